//! LSM tables: crash images, compactors that overtake each other, and processes that are killed or
//! forked.

mod child;
mod crash;
mod forked;
mod kills;
mod overtaken;
mod work;

use huon::sim::Point;

/// A process has one hook.
fn hook(point: Point) {
    child::came_to(point);
    crash::came_to(point);
    overtaken::came_to(point);
}

/// What a child process does; nothing in the run itself.
#[test]
fn child_process() {
    child::child();
}
