#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| huon_testkit::fuzz::journal(data));
