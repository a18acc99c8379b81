//! A web service with sessions that expire, and a backup that is made while it serves.
//!
//! ```text
//! cargo run -p huon-examples --bin sessions -- sessions.huon 127.0.0.1:8080
//! curl localhost:8080/login --json '{"user": "ada"}'
//! curl localhost:8080/whoami -H 'Authorization: Bearer TOKEN'
//! curl localhost:8080/backup -X POST
//! ```
//!
//! The environment and the handles of its tables are opened once, and each request has a clone.
//! A read waits for nothing and takes about a microsecond, so it runs where it is. A durable commit
//! waits for the disk, so it runs on a thread that may wait; commits that wait at the same time
//! share one flush.

use std::error::Error;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::{get, post};
use axum::{Json, Router};
use huon::{CopyOptions, Env, Table, TableDef, U64, Unit, WriteTxn};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The sessions by token. As JSON: fields that have a default may be added to it later.
const SESSIONS: TableDef<Uuid, huon::Json<Session>> = TableDef::new("sessions");
/// The tokens, those of the sessions that end first at the front.
const ENDS: TableDef<(U64, Uuid), Unit> = TableDef::new("ends");

/// So many sessions are swept in one transaction: no writer waits long for it.
const SWEPT_MAX: usize = 1000;

#[derive(Serialize, Deserialize)]
struct Session {
    user: String,
    /// In milliseconds since 1970.
    end: u64,
}

#[derive(Clone)]
struct App {
    env: Env,
    path: PathBuf,
    life: Duration,
    sessions: Table<Uuid, huon::Json<Session>>,
    ends: Table<(U64, Uuid), Unit>,
}

impl App {
    fn open(path: PathBuf, life: Duration) -> huon::Result<App> {
        let env = Env::open(&path)?;
        let (sessions, ends) =
            env.update(|txn| Ok((txn.create_table(&SESSIONS)?, txn.create_table(&ENDS)?)))?;
        Ok(App { env, path, life, sessions, ends })
    }

    fn log_in(&self, user: String) -> huon::Result<Uuid> {
        let token = Uuid::new_v4();
        let session = Session { user, end: now_ms() + self.life.as_millis() as u64 };
        self.env.update(|txn| {
            self.sessions.put(txn, token, &session)?;
            self.ends.put(txn, (session.end, token), ())
        })?;
        Ok(token)
    }

    fn session(&self, token: Uuid) -> huon::Result<Option<Session>> {
        let session = self.env.view(|txn| self.sessions.get(txn, token))?;
        Ok(session.filter(|session| session.end > now_ms()))
    }

    /// Removes sessions that have ended.
    fn sweep(&self, txn: &mut WriteTxn) -> huon::Result<()> {
        for _ in 0..SWEPT_MAX {
            match self.ends.first(txn)? {
                Some(((end, token), ())) if end <= now_ms() => {
                    self.ends.remove(txn, (end, token))?;
                    self.sessions.remove(txn, token)?;
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// Copies one snapshot to a new file beside this one, while readers and writers go on.
    fn back_up(&self) -> huon::Result<PathBuf> {
        // Two in one millisecond are two files.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let target = self.path.with_extension(format!("{now}.backup"));
        self.env.copy_to(&target, CopyOptions::new())?;
        Ok(target)
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

type Answer<T> = Result<Json<T>, StatusCode>;

#[derive(Deserialize)]
struct Login {
    user: String,
}

async fn log_in(State(app): State<App>, Json(Login { user }): Json<Login>) -> Answer<Uuid> {
    blocking(move || app.log_in(user)).await.map(Json)
}

async fn who_am_i(State(app): State<App>, headers: HeaderMap) -> Answer<Session> {
    let header = headers.get(header::AUTHORIZATION).and_then(|header| header.to_str().ok());
    let token = header.and_then(|header| header.strip_prefix("Bearer ")?.parse().ok());
    let token = token.ok_or(StatusCode::UNAUTHORIZED)?;
    app.session(token).map_err(failed)?.map(Json).ok_or(StatusCode::UNAUTHORIZED)
}

async fn back_up(State(app): State<App>) -> Answer<PathBuf> {
    blocking(move || app.back_up()).await.map(Json)
}

/// Runs what waits for the disk on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> huon::Result<T> + Send + 'static,
) -> Result<T, StatusCode> {
    tokio::task::spawn_blocking(work).await.map_err(failed)?.map_err(failed)
}

/// The operator is told what went wrong, the client only that something did.
fn failed(error: impl Display) -> StatusCode {
    eprintln!("{error}");
    StatusCode::INTERNAL_SERVER_ERROR
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (path, address, seconds) = match &args[..] {
        [path, address] => (path, address, 3600),
        [path, address, seconds] => (path, address, seconds.parse()?),
        _ => return Err("sessions FILE ADDRESS [SECONDS OF A SESSION]".into()),
    };
    let app = App::open(path.into(), Duration::from_secs(seconds))?;
    let sweeper = app.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let app = sweeper.clone();
            // What went wrong has been told; the next round tries again.
            let _ = blocking(move || app.env.update(|txn| app.sweep(txn))).await;
        }
    });
    let routes = Router::new()
        .route("/login", post(log_in))
        .route("/whoami", get(who_am_i))
        .route("/backup", post(back_up))
        .with_state(app);
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, routes).with_graceful_shutdown(stop).await?;
    Ok(())
}
