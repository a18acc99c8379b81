//! The texts of results, beside those of LMDB's own library where it is installed.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use huon_testkit::figures;
use libloading::{Library, Symbol};

type Text = extern "C" fn(c_int) -> *mut c_char;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *mut c_char;

/// A code of LMDB's master line, which 0.9 has no text for.
const PROBLEM: c_int = -30779;

fn said(text: Text, code: c_int) -> String {
    // SAFETY: the answer is a text.
    unsafe { CStr::from_ptr(text(code)) }.to_string_lossy().into_owned()
}

#[test]
fn texts_are_those_of_lmdb() {
    const NAME: &str = "texts_are_those_of_lmdb";
    let name = std::env::var("HUON_LMDB_LIBRARY").unwrap_or_else(|_| "liblmdb.so.0".into());
    // SAFETY: what LMDB does when it is loaded is nothing.
    let Ok(library) = (unsafe { Library::new(name) }) else {
        return figures::skip(NAME, "LMDB's library is not installed");
    };
    // SAFETY: the function of LMDB's interface has this type.
    let theirs: Symbol<'_, Text> = unsafe { library.get(b"mdb_strerror\0") }.expect("a function");
    // SAFETY: as before.
    let version: Symbol<'_, Version> = unsafe { library.get(b"mdb_version\0") }.expect("another");
    let mut patch = 0;
    // SAFETY: null, or good for writing.
    let text = unsafe { CStr::from_ptr(version(ptr::null_mut(), ptr::null_mut(), &mut patch)) };
    if text.to_string_lossy().contains("Huon") {
        return figures::skip(NAME, "the library that is installed is Huon's");
    }
    let own: Text = lmdb::abi::mdb_strerror;
    for code in (-30799..=-30780).chain(0..200).chain([1000, c_int::MAX]) {
        assert_eq!(said(own, code), said(*theirs, code), "{code}");
    }
    if patch >= 36 {
        let foreign = (-30900..-30799).chain(-30779..0).chain([c_int::MIN]);
        for code in foreign.filter(|code| *code != PROBLEM) {
            assert_eq!(said(own, code), said(*theirs, code), "{code}");
        }
    }
}
