//! A web service with sessions that expire, and a backup that is made while it serves.
//!
//! ```text
//! sessions sessions.huon 127.0.0.1:8080
//! curl -d '{"user":"ada"}' -H 'content-type: application/json' localhost:8080/login
//! curl -H 'authorization: TOKEN' localhost:8080/whoami
//! curl -X POST localhost:8080/backup
//! ```
//!
//! The environment and the handles of the tables are opened once, and each request has a clone.
//! Reads never wait and take about a microsecond, so they run where they are. A durable commit
//! waits for the disk, so it runs on a thread that may; all commits that wait at the same time
//! share one flush.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use huon::{CopyOptions, Env, Str, Table, TableDef, U64, Unit, WriteTxn};
use serde_json::{Value, json};

/// User and end of each session, by token.
const USERS: TableDef<Str, Str> = TableDef::new("users");
const ENDS: TableDef<Str, U64> = TableDef::new("ends");
/// Which session ends when, in milliseconds since 1970.
const BY_END: TableDef<(U64, Str), Unit> = TableDef::new("by-end");

#[derive(Clone)]
struct App {
    env: Env,
    path: PathBuf,
    life: Duration,
    users: Table<Str, Str>,
    ends: Table<Str, U64>,
    by_end: Table<(U64, Str), Unit>,
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}

/// A token that cannot be guessed.
fn token() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl App {
    fn open(path: PathBuf, life: Duration) -> huon::Result<App> {
        let env = Env::open(&path)?;
        let (users, ends, by_end) = env.update(|txn| {
            Ok((txn.create_table(&USERS)?, txn.create_table(&ENDS)?, txn.create_table(&BY_END)?))
        })?;
        Ok(App { env, path, life, users, ends, by_end })
    }

    fn log_in(&self, token: &str, user: &str) -> huon::Result<()> {
        let end = now_ms() + self.life.as_millis() as u64;
        self.env.update(|txn| {
            self.users.put(txn, token, user)?;
            self.ends.put(txn, token, end)?;
            self.by_end.put(txn, (end, token), ())?;
            Ok(())
        })
    }

    fn user(&self, token: &str) -> huon::Result<Option<String>> {
        self.env.view(|txn| {
            let alive = self.ends.get(txn, token)?.is_some_and(|end| end > now_ms());
            let user = if alive { self.users.get(txn, token)? } else { None };
            Ok(user.map(str::to_owned))
        })
    }

    /// Removes at most a thousand sessions that have ended; how many there were.
    fn sweep(&self, txn: &mut WriteTxn) -> huon::Result<usize> {
        let ended: Vec<(u64, String)> = self
            .by_end
            .range(txn, ..(now_ms(), ""))?
            .take(1000)
            .map(|session| session.map(|((end, token), ())| (end, token.to_owned())))
            .collect::<huon::Result<_>>()?;
        for (end, token) in &ended {
            self.users.remove(txn, token)?;
            self.ends.remove(txn, token)?;
            self.by_end.remove(txn, (*end, token))?;
        }
        Ok(ended.len())
    }

    /// A copy of one snapshot, beside the file, while readers and writers go on.
    fn back_up(&self) -> huon::Result<(PathBuf, u64)> {
        let name = format!("backup-{}", now_ms());
        let target = self.path.with_extension(name);
        let report = self.env.copy_to(&target, CopyOptions::new())?;
        Ok((target, report.bytes))
    }
}

/// What went wrong, for a client that cannot help it.
fn failed(error: impl std::fmt::Display) -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

type Answer<T> = Result<T, (StatusCode, String)>;

/// Runs what may wait for the disk where waiting holds nobody up.
async fn waiting<T: Send + 'static>(
    work: impl FnOnce() -> huon::Result<T> + Send + 'static,
) -> Answer<T> {
    tokio::task::spawn_blocking(work).await.map_err(failed)?.map_err(failed)
}

async fn log_in(State(app): State<App>, Json(asked): Json<Value>) -> Answer<Json<Value>> {
    let user = asked["user"].as_str().filter(|user| !user.is_empty() && user.len() <= 200);
    let user = user.ok_or((StatusCode::BAD_REQUEST, "no user".to_owned()))?.to_owned();
    let token = token().map_err(failed)?;
    let told = token.clone();
    waiting(move || app.log_in(&token, &user)).await?;
    Ok(Json(json!({ "token": told })))
}

async fn who_am_i(State(app): State<App>, headers: HeaderMap) -> Answer<Json<Value>> {
    let token = headers.get("authorization").and_then(|token| token.to_str().ok());
    let token = token.filter(|token| token.len() <= 64).unwrap_or_default();
    match app.user(token).map_err(failed)? {
        Some(user) => Ok(Json(json!({ "user": user }))),
        None => Err((StatusCode::UNAUTHORIZED, "log in".into())),
    }
}

async fn back_up(State(app): State<App>) -> Answer<Json<Value>> {
    let (target, bytes) = waiting(move || app.back_up()).await?;
    Ok(Json(json!({ "backup": target, "bytes": bytes })))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (path, address, life) = match args.as_slice() {
        [path, address] => (path, address, 3600.0),
        [path, address, seconds] => (path, address, seconds.parse()?),
        _ => return Err("usage: sessions FILE ADDRESS [SECONDS OF A SESSION]".into()),
    };
    let app = App::open(path.into(), Duration::from_secs_f64(life))?;
    let sweeper = app.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let app = sweeper.clone();
            if let Err((_, text)) = waiting(move || app.env.update(|txn| app.sweep(txn))).await {
                eprintln!("sweep: {text}");
            }
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
