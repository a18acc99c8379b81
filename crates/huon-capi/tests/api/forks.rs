//! A forked child goes on with environments and tables, and with nothing that was open in them.

#[path = "../../../huon-c/tests/common/forked.rs"]
mod forked;

use crate::common::*;
use forked::in_child;

#[test]
fn a_child_goes_on_with_the_environment_alone() {
    let env = Env::new();
    let t = env.table(&[("a", "1")]);
    let reader = env.read();
    let cursor = get(|cursor| huon_cursor_open(reader, t, None, cursor)).unwrap();
    let writer = env.write();
    ok(put(writer, t, "a", "2"));
    in_child(|| {
        let mut so = vec![
            value(reader, t, "a") == Err(HUON_FORKED),
            get(|pair| huon_cursor_next(cursor, reader, pair)).err() == Some(HUON_FORKED),
            put(writer, t, "a", "3") == HUON_FORKED,
            huon_commit(writer) == HUON_FORKED,
            huon_abort(reader) == HUON_OK,
            huon_cursor_close(cursor) == HUON_OK,
        ];
        let own = env.read();
        so.push(value(own, t, "a").as_deref() == Ok("1"));
        so.push(huon_abort(own) == HUON_OK);
        so
    });
    ok(huon_commit(writer));
    assert_eq!(value(reader, t, "a").as_deref(), Ok("1"), "the parent goes on");
    ok(huon_renew(reader));
    assert_eq!(value(reader, t, "a").as_deref(), Ok("2"));
    ok(huon_cursor_close(cursor));
    ok(huon_abort(reader));
}
