//! The program for bbolt makes the same records in another language: both compare what they make
//! with `bbolt/testdata/records.txt`.

use std::fmt::Write;

use crate::data::{Data, Keys};

#[test]
fn records_are_those_of_the_program_for_bbolt() {
    let mut made = String::new();
    for (name, keys) in [("Random16", Keys::Random16), ("Text40", Keys::Text40)] {
        made.push_str(&of(name, keys).expect("a string can be written to"));
    }
    assert_eq!(made, include_str!("../bbolt/testdata/records.txt"), "made:\n{made}");
}

fn of(name: &str, keys: Keys) -> Result<String, std::fmt::Error> {
    let (mut text, data) = (String::new(), Data::new(keys, 1000, 100));
    for number in [0, 1, 999] {
        writeln!(text, "{name} key {number} {}", hex(data.order(vec![number]).key(0)))?;
    }
    let orders = [
        ("shuffled", data.shuffled(1)),
        ("sorted", data.sorted()),
        ("picks", data.picks(2, 1000)),
        ("absent", data.absent(4, 1000)),
    ];
    for (order, records) in orders {
        let numbers: Vec<String> = records.numbers[..8].iter().map(u32::to_string).collect();
        writeln!(text, "{name} {order} [{}]", numbers.join(" "))?;
    }
    for round in 0..3 {
        writeln!(text, "{name} value 7 of round {round} {}", hex(&data.value(7, round)[..16]))?;
        writeln!(text, "{name} sum of round {round} {}", data.sum(0..1000, round))?;
    }
    Ok(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
