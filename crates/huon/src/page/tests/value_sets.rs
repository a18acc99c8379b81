use super::*;

type Values = Vec<Vec<u8>>;

/// More than any set of these tests has.
const MAX: usize = 1 << 20;

fn write(values: &Values, fixed_bytes: usize) -> (PayloadKind, Vec<u8>) {
    let mut out = b"what was there".to_vec();
    let kind = write_values(&mut out, values.iter().map(|v| &v[..]), fixed_bytes, MAX);
    (kind.unwrap().expect("it fits"), out)
}

fn view(payload: &[u8], kind: PayloadKind, fixed_bytes: usize) -> ValueSet<'_> {
    match kind {
        PayloadKind::Inline => ValueSet::single(payload, fixed_bytes),
        PayloadKind::DuplicateSet => ValueSet::view(payload, fixed_bytes).unwrap(),
        kind => panic!("{kind:?} of a set"),
    }
}

/// Bytes of the payload by the format's description.
fn payload_bytes(values: &Values, fixed_bytes: usize) -> usize {
    let table = if values.len() > 1 && fixed_bytes == 0 { 2 + 2 * values.len() } else { 0 };
    table + values.iter().map(Vec::len).sum::<usize>()
}

/// The set must read as these values, and find every one of `probes` as they do.
fn same<O: KeyOrder>(case: &Case<O>, values: &Values, fixed_bytes: usize, probes: &Values) {
    let (kind, payload) = write(values, fixed_bytes);
    assert_eq!(kind == PayloadKind::Inline, values.len() == 1);
    assert_eq!(payload.len(), payload_bytes(values, fixed_bytes));
    let set = view(&payload, kind, fixed_bytes);
    set.audit(case.order).unwrap();
    assert_eq!(set.count(), values.len());
    for (i, value) in values.iter().enumerate() {
        assert_eq!(set.value(i), value);
        assert_eq!(set.search(case.order, value), Ok(i));
    }
    for probe in probes {
        assert_eq!(set.search(case.order, probe), case.place(values, probe), "{probe:x?}");
    }
    let (mut out, bytes) = (Vec::new(), payload.len());
    let all = values.iter().map(|value| &value[..]);
    assert_eq!(write_values(&mut out, all.clone(), fixed_bytes, bytes), Ok(Some(kind)));
    if bytes > 0 {
        assert_eq!(write_values(&mut out, all, fixed_bytes, bytes - 1), Ok(None));
    }
}

/// A new value that is written into the payload makes it what it would be if it were made anew.
fn grows<O: KeyOrder>(case: &Case<O>, values: &Values, fixed_bytes: usize, new: &[u8]) {
    let Err(place) = case.place(values, new) else { return };
    let (kind, mut payload) = write(values, fixed_bytes);
    let growth = view(&payload, kind, fixed_bytes).growth(place, new.len());
    let (at, bytes) = growth.room();
    payload.splice(at..at, vec![0xA5; bytes]);
    growth.fill(&mut payload, new).unwrap();
    assert_eq!(growth.fill(&mut payload[1..], new), Err(Reason::Cell));
    let mut values = values.clone();
    values.insert(place, new.to_vec());
    let anew = write(&values, fixed_bytes).1;
    assert_eq!((payload.len(), payload), (growth.bytes, anew));
}

/// Some of the values, from both ends.
fn from_both_ends(values: &Values, fixed_bytes: usize, rng: &mut Rng) {
    let (kind, payload) = write(values, fixed_bytes);
    let set = view(&payload, kind, fixed_bytes);
    let from = rng.below(values.len() + 1);
    let until = rng.below(values.len() + 1);
    let mut items = set.items().between(from, until);
    let (mut low, mut high) = (Vec::new(), Vec::new());
    loop {
        let forward = rng.chance(2);
        match if forward { items.next() } else { items.next_back() } {
            Some(value) if forward => low.push(value),
            Some(value) => high.push(value),
            None => break,
        }
    }
    assert!(items.next().is_none() && items.next_back().is_none());
    high.reverse();
    low.extend(high);
    assert_eq!(low, values[from..until.max(from)]);
}

fn random_edits<O: KeyOrder>(case: &Case<O>, fixed_bytes: usize, edits: usize) -> u64 {
    let mut rng = Rng(fixed_bytes as u64 + 5);
    let value = |rng: &mut Rng| match fixed_bytes {
        0 => rng.key(40),
        bytes => {
            let alphabet = [0, 1, 0xFF, b'k'];
            (0..bytes).map(|_| alphabet[rng.below(4)]).collect()
        }
    };
    let mut values = vec![value(&mut rng)];
    for _ in 0..edits {
        let new = value(&mut rng);
        match case.place(&values, &new) {
            Ok(place) if values.len() > 1 => drop(values.remove(place)),
            Ok(_) => {}
            Err(place) => values.insert(place, new.clone()),
        }
        while values.len() > 1 && (values.len() > 60 || rng.chance(5)) {
            values.remove(rng.below(values.len()));
        }
        let probes = vec![new, rng.key(10), vec![]];
        same(case, &values, fixed_bytes, &probes);
        grows(case, &values, fixed_bytes, &value(&mut rng));
        from_both_ends(&values, fixed_bytes, &mut rng);
    }
    edits as u64
}

#[test]
fn random_edits_agree_with_a_vector() {
    let mut done = 0;
    for fixed_bytes in [0, 1, 2, 4, 8, 33] {
        done += each_order!(random_edits(fixed_bytes, sized(2_000, 30)));
    }
    figure("model", "random edits of sets of values", done);
}

/// Lengths are kept in two bytes: more do not fit, whatever the caller would take.
#[test]
fn sets_have_an_end() {
    let value = vec![7; 40_000];
    let mut out = Vec::new();
    let two = [&value[..20_000], &value[..]];
    assert!(write_values(&mut out, two.into_iter(), 0, MAX).unwrap().is_some());
    assert_eq!(ValueSet::view(&out, 0).unwrap().value(1), value);
    let two = [&value[..], &value[..]];
    assert_eq!(write_values(&mut out, two.into_iter(), 0, MAX), Ok(None));
    assert_eq!(write_values(&mut out, two.into_iter(), 40_000, MAX), Ok(None));
}

#[test]
fn damage_is_refused() {
    let refused = |payload: &[u8], fixed_bytes: usize| {
        let found = ValueSet::view(payload, fixed_bytes).map(|set| set.count());
        assert_eq!(found, Err(Reason::Cell), "{payload:?} {fixed_bytes}");
    };
    let values: Values = [&b""[..], b"ab", b"cde", b"f"].map(<[u8]>::to_vec).into();
    let (_, sound) = write(&values, 0);
    assert_eq!(sound[..10], [4, 0, 0, 0, 2, 0, 5, 0, 6, 0]);
    (0..sound.len()).for_each(|cut| refused(&sound[..cut], 0));
    refused(&[&sound[..], b"g"].concat(), 0);
    // The count, and what an end may be.
    for count in [0, 1, 3, 5, 255] {
        refused(&[&[count], &sound[1..]].concat(), 0);
    }
    for (at, byte) in [(2, 3), (4, 6), (6, 1), (6, 7), (8, 5), (8, 7), (3, 1), (9, 1)] {
        let mut payload = sound.clone();
        payload[at] = byte;
        refused(&payload, 0);
    }
    // A single value is no set, nor is none.
    refused(&[], 0);
    refused(&[0, 0], 0);
    refused(&[1, 0, 1, 0, b'a'], 0);
    refused(&[], 4);
    refused(b"four", 4);
    refused(b"fourfou", 4);
    refused(b"fourfour", 3);
    refused(b"fourfour", usize::MAX);
    // Ends that are right, and values that do not rise.
    for payload in [&[2, 0, 1, 0, 2, 0, b'b', b'a'][..], &[2, 0, 1, 0, 2, 0, b'a', b'a']] {
        let set = ValueSet::view(payload, 0).unwrap();
        assert_eq!(set.audit(BytesOrder), Err(Reason::Order));
    }
    assert_eq!(ValueSet::view(b"ba", 1).unwrap().audit(BytesOrder), Err(Reason::Order));
    assert_eq!(ValueSet::view(b"ab", 1).unwrap().audit(ReversedOrder), Ok(()));
}

/// Whatever the bytes are: if they are a set, all its values lie in it, one behind the other.
#[test]
fn random_bytes_give_reasons() {
    let (mut rng, mut fine, mut refused) = (Rng(21), 0, 0);
    for _ in 0..sized(200_000, 300) {
        let bytes = rng.below(40);
        let mut payload = rng.bytes(bytes);
        // Small numbers get further.
        payload.iter_mut().take(12).for_each(|byte| *byte %= 6);
        payload.iter_mut().take(12).skip(1).step_by(2).for_each(|byte| *byte = 0);
        let fixed_bytes = if rng.chance(2) { 0 } else { rng.below(6) };
        let Ok(set) = ValueSet::view(&payload, fixed_bytes) else {
            refused += 1;
            continue;
        };
        fine += 1;
        let values: Vec<&[u8]> = (0..set.count()).map(|i| set.value(i)).collect();
        assert!(values.len() >= 2 && payload.ends_with(&values.concat()));
        let _ = set.audit(BytesOrder);
        assert!(set.search(BytesOrder, b"k").unwrap_or_else(|at| at) <= values.len());
        let (mut items, mut count) = (set.items(), 0);
        while items.next().is_some() {
            count += 1;
        }
        assert_eq!(count, values.len());
    }
    assert!(fine > 0 && refused > 0, "one kind of answer never came: {fine}, {refused}");
    figure("flip", "sets of values of random bytes", fine + refused);
}
