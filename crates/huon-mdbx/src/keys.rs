//! Numbers as keys of tables with `INTEGERKEY`, in the order of the numbers.
//!
//! 1. An integer's key is the number plus that of the lowest one, so that the lowest has the key 0.
//! 2. A floating-point number's key is its bits with the sign turned, or, below zero, all of them.
//! 3. An integer of JSON has the key of the `double` next to it.

const SIGN_32: u32 = 1 << 31;
const SIGN_64: u64 = 1 << 63;

pub(crate) fn of_i32(number: i32) -> u32 {
    number as u32 ^ SIGN_32
}

pub(crate) fn of_i64(number: i64) -> u64 {
    number as u64 ^ SIGN_64
}

pub(crate) fn of_f32(number: f32) -> u32 {
    let bits = number.to_bits();
    if bits & SIGN_32 == 0 { bits | SIGN_32 } else { !bits }
}

pub(crate) fn of_f64(number: f64) -> u64 {
    let bits = number.to_bits();
    if bits & SIGN_64 == 0 { bits | SIGN_64 } else { !bits }
}

pub(crate) fn of_json(number: i64) -> u64 {
    of_f64(number as f64)
}

pub(crate) fn to_i32(key: &[u8]) -> i32 {
    key.try_into().map_or(0, |key| (u32::from_ne_bytes(key) ^ SIGN_32) as i32)
}

pub(crate) fn to_i64(key: &[u8]) -> i64 {
    key.try_into().map_or(0, |key| (u64::from_ne_bytes(key) ^ SIGN_64) as i64)
}

pub(crate) fn to_f32(key: &[u8]) -> f32 {
    let Ok(key) = key.try_into().map(u32::from_ne_bytes) else { return 0.0 };
    f32::from_bits(if key & SIGN_32 != 0 { key ^ SIGN_32 } else { !key })
}

pub(crate) fn to_f64(key: &[u8]) -> f64 {
    let Ok(key) = key.try_into().map(u64::from_ne_bytes) else { return 0.0 };
    f64::from_bits(if key & SIGN_64 != 0 { key ^ SIGN_64 } else { !key })
}

/// Without what is behind the point; the lowest or highest integer for what is beyond all.
pub(crate) fn to_json(key: &[u8]) -> i64 {
    match to_f64(key) {
        number if !number.is_nan() => number as i64,
        number if number.is_sign_negative() => i64::MIN,
        _ => i64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use huon_testkit::random::Random;

    use super::*;

    /// Numbers of all magnitudes, with the bits that matter at the ends.
    fn numbers() -> Vec<u64> {
        let mut random = Random::new(7);
        let any = (0..20_000).map(|_| random.next() >> random.below(64));
        let edges = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, !(1 << bit)]);
        any.chain(edges).flat_map(|n| [n, n.wrapping_neg()]).collect()
    }

    /// Keys of neighbours in the order of the numbers are in that order.
    fn ascend<T: Copy>(sorted: &[T], key: impl Fn(T) -> u64, equal: impl Fn(T, T) -> bool) {
        for pair in sorted.windows(2) {
            let (a, b) = (key(pair[0]), key(pair[1]));
            assert!(a < b || a == b && equal(pair[0], pair[1]), "{a:x} {b:x}");
        }
    }

    #[test]
    fn integers_keep_their_order_and_come_back() {
        let mut longs: Vec<i64> = numbers().into_iter().map(|n| n as i64).collect();
        longs.sort_unstable();
        ascend(&longs, of_i64, |a, b| a == b);
        ascend(&longs, of_json, |a, b| a as f64 == b as f64);
        for n in longs {
            assert_eq!(to_i64(&of_i64(n).to_ne_bytes()), n);
            assert_eq!(to_i32(&of_i32(n as i32).to_ne_bytes()), n as i32);
            let back = to_json(&of_json(n).to_ne_bytes());
            assert_eq!(back, n as f64 as i64);
            assert!(back == n || n.unsigned_abs() > 1 << 53);
        }
        let mut ints: Vec<i32> = numbers().into_iter().map(|n| n as i32).collect();
        ints.sort_unstable();
        ascend(&ints, |n| of_i32(n).into(), |a, b| a == b);
        assert_eq!((of_i64(i64::MIN), of_i64(-1), of_i32(0)), (0, !SIGN_64, SIGN_32));
    }

    #[test]
    fn floats_keep_their_order_and_come_back() {
        let mut doubles: Vec<f64> = numbers().into_iter().map(f64::from_bits).collect();
        doubles.extend([0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
        doubles.sort_unstable_by(f64::total_cmp);
        ascend(&doubles, of_f64, |a, b| a.to_bits() == b.to_bits());
        let mut floats: Vec<f32> =
            numbers().into_iter().map(|n| f32::from_bits(n as u32)).collect();
        floats.sort_unstable_by(f32::total_cmp);
        ascend(&floats, |n| of_f32(n).into(), |a, b| a.to_bits() == b.to_bits());
        for n in doubles {
            assert_eq!(to_f64(&of_f64(n).to_ne_bytes()).to_bits(), n.to_bits());
        }
        for n in floats {
            assert_eq!(to_f32(&of_f32(n).to_ne_bytes()).to_bits(), n.to_bits());
        }
        assert_eq!((of_f64(1.0), of_f64(-1.0)), (0xbff0_0000_0000_0000, 0x400f_ffff_ffff_ffff));
    }

    #[test]
    fn json_meets_doubles_in_one_order() {
        assert_eq!(of_json(1), of_f64(1.0));
        assert!(of_f64(1.5) > of_json(1) && of_f64(1.5) < of_json(2));
        let json = |number| to_json(&of_f64(number).to_ne_bytes());
        assert_eq!([json(0.0), json(-0.9), json(2.7), json(-2.7)], [0, 0, 2, -2]);
        assert_eq!([json(1e300), json(-1e300)], [i64::MAX, i64::MIN]);
        assert_eq!([json(f64::NAN), json(-f64::NAN)], [i64::MAX, i64::MIN]);
    }

    #[test]
    fn what_is_no_key_is_zero() {
        let short = [1, 2, 3];
        assert_eq!((to_i32(&short), to_i64(&short), to_json(&short)), (0, 0, 0));
        assert_eq!((to_f32(&[0; 8]), to_f64(&[0; 4])), (0.0, 0.0));
    }
}
