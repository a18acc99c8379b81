//! A list that only grows, and is read without a lock: what a transaction keeps beside its pages
//! for as long as it lives.

use std::any::Any;
use std::sync::OnceLock;

use crate::error::Result;

/// Items lie where they were put until the list goes. Few lists get more than a few of them.
pub(super) struct OnceList<T>(OnceLock<Box<Node<T>>>);

struct Node<T> {
    item: T,
    next: OnceList<T>,
}

impl<T> Default for OnceList<T> {
    fn default() -> Self {
        OnceList(OnceLock::new())
    }
}

impl<T> OnceList<T> {
    /// The first item that `is_it` takes; `make` makes it where there is none.
    pub(super) fn get_or_add(
        &self,
        is_it: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<&T> {
        let mut at = self;
        while let Some(node) = at.0.get() {
            if is_it(&node.item) {
                return Ok(&node.item);
            }
            at = &node.next;
        }
        let mut fresh = Box::new(Node { item: make()?, next: OnceList::default() });
        // Other threads may add others meanwhile.
        while let Err(back) = at.0.set(fresh) {
            fresh = back;
            let node = at.0.get().expect("another one is there");
            if is_it(&node.item) {
                return Ok(&node.item);
            }
            at = &node.next;
        }
        Ok(&at.0.get().expect("it was put there").item)
    }
}

/// What layers on top of Huon keep with a transaction, one item of each type.
#[derive(Default)]
pub(super) struct Attachments(OnceList<Box<dyn Any + Send + Sync>>);

impl Attachments {
    /// The item of this type; `make` makes it where there is none.
    pub(super) fn get_or_make<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<&T> {
        let is_it = |item: &Box<dyn Any + Send + Sync>| (**item).is::<T>();
        let item = self.0.get_or_add(is_it, || Ok(Box::new(make()?)))?;
        Ok((**item).downcast_ref().expect("it was found by its type"))
    }
}

impl<T> Drop for OnceList<T> {
    fn drop(&mut self) {
        // One after the other: a list may be longer than the stack is deep.
        let mut next = self.0.take();
        while let Some(mut node) = next {
            next = node.next.0.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_made_once_and_found_again() {
        let list = OnceList::default();
        for n in 0..100u32 {
            let made = || Ok((n, n + 1));
            assert_eq!(
                *list.get_or_add(|item: &(u32, u32)| item.0 == n, made).unwrap(),
                (n, n + 1)
            );
        }
        let absent = || panic!("all are there");
        for n in 0..100 {
            assert_eq!(list.get_or_add(|item| item.0 == n, absent).unwrap().1, n + 1);
        }
    }

    #[test]
    fn a_long_list_goes_without_a_deep_stack() {
        let list = OnceList::default();
        let mut at = &list;
        for n in 0..1_000_000u32 {
            at.get_or_add(|item| *item == n, || Ok(n)).unwrap();
            at = &at.0.get().unwrap().next;
        }
        drop(list);
    }

    #[test]
    fn threads_that_want_the_same_item_share_it() {
        let list = OnceList::default();
        let addresses: Vec<usize> = std::thread::scope(|scope| {
            let find = || list.get_or_add(|item| *item == 7u64, || Ok(7)).unwrap() as *const u64;
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(move || find() as usize)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(addresses.iter().all(|address| *address == addresses[0]));
    }
}
