//! Damage to the metas.

use super::*;

impl Damages<'_> {
    pub(super) fn metas(&mut self) {
        let (file, page_bytes) = (self.sound, self.sound.page_bytes as u32);
        let (txnid, used) = (file.txnid(), file.used());
        let file_pages = (file.bytes.len() / file.page_bytes) as u32;
        for bytes in [0, 1, 3, 128, 256, 512, 1000, 4096, 8192, 65_536, 1 << 17, 1 << 31] {
            let verdict = if bytes == page_bytes { Anything } else { Found };
            self.set("page size", meta::PAGE_BYTES, &u32::to_le_bytes(bytes), verdict);
        }
        for kind in [0, 1, 3, u32::MAX] {
            let verdict = if kind == 1 { Anything } else { Found };
            self.set("commit kind", meta::COMMIT, &kind.to_le_bytes(), verdict);
        }
        for id in U64S.into_iter().chain([txnid - 1, txnid + 1]) {
            self.set("id of the meta", meta::TXNID, &id.to_le_bytes(), Anything);
            self.set("predecessor", meta::BEFORE, &id.to_le_bytes(), Anything);
            self.set("ceiling", meta::CEILING, &id.to_le_bytes(), Anything);
            self.edit("all ids", Anything, |file| {
                file.put(meta::TXNID, &id.to_le_bytes());
                file.put(meta::BEFORE, &id.to_le_bytes());
                file.set(meta::CEILING, &id.to_le_bytes());
            });
        }
        let near = [used - 1, used + 1, file_pages, file_pages + 1, file.first_page()];
        for pages in U32S.into_iter().chain(near) {
            for field in [meta::LOWER, meta::UPPER, meta::GROW, meta::SHRINK] {
                self.set("geometry", field, &pages.to_le_bytes(), Anything);
            }
            let sweep = [meta::SWEEP_OWED, meta::SWEEP_SINCE, meta::SWEEP_LINE, meta::SWEEP_ROOF];
            for field in sweep {
                self.set("sweep", field, &pages.to_le_bytes(), Anything);
            }
            self.set("high-water mark", meta::USED, &pages.to_le_bytes(), Found);
            self.edit("high-water mark and geometry", Found, |file| {
                file.put(meta::UPPER, &u32::MAX.to_le_bytes());
                file.set(meta::USED, &pages.max(1).to_le_bytes());
                if pages == used {
                    file.set(meta::USED, &0u32.to_le_bytes());
                }
            });
        }
        self.set("reserved bytes", meta::ZERO, &[1], Found);
        self.set("reserved bytes", META_BYTES - 1, &[1], Found);
        self.set("main table of another order", meta::MAIN + tree::ORDER, &[1], Found);
        self.edit("another uuid", Found, |file| file.set(meta::UUID, &[9; 16]));
        for slot in 0..3 {
            self.edit("no meta", Anything, |file| {
                file.bytes[slot * META_BYTES..][..META_BYTES].fill(0);
            });
        }
    }

    /// Metas that disagree with each other.
    pub(super) fn several_metas(&mut self) {
        let twice = |change: &dyn Fn(&mut File, usize)| {
            let mut file = self.sound.clone();
            for slot in 1..3 {
                file.bytes.copy_within(..META_BYTES, slot * META_BYTES);
                change(&mut file, slot * META_BYTES);
                file.seal(slot * META_BYTES);
            }
            file
        };
        let used = self.sound.used();
        let files = [
            ("two metas with one id", twice(&|_, _| {})),
            (
                "two metas with one id, not alike",
                twice(&|file, at| {
                    file.put(at + meta::USED, &(used - 1).to_le_bytes());
                    file.put(at + meta::ITEM_COUNT, &0u32.to_le_bytes());
                    file.bytes[at + meta::ITEMS..][..ITEM_BYTES].fill(0);
                }),
            ),
            (
                "metas of several page sizes",
                twice(&|file, at| {
                    file.put(at + meta::PAGE_BYTES, &(256u32 << (at / META_BYTES)).to_le_bytes());
                }),
            ),
            (
                "metas of several files",
                twice(&|file, at| {
                    file.put(at + meta::UUID, &[at as u8 >> 4; 16]);
                }),
            ),
            (
                "a younger meta of another file",
                twice(&|file, at| {
                    let id = file.u64(at + meta::TXNID) + at as u64;
                    file.put(at + meta::TXNID, &id.to_le_bytes());
                    file.put(at + meta::UUID, &[8; 16]);
                }),
            ),
            (
                "younger metas in one flush",
                twice(&|file, at| {
                    let id = file.u64(at + meta::TXNID);
                    file.put(at + meta::BEFORE, &id.to_le_bytes());
                    file.put(at + meta::TXNID, &(id + at as u64).to_le_bytes());
                    file.put(at + meta::COMMIT, &1u32.to_le_bytes());
                }),
            ),
            (
                "metas before each other",
                twice(&|file, at| {
                    let id = file.u64(at + meta::TXNID) + 2;
                    file.put(at + meta::TXNID, &id.to_le_bytes());
                    file.put(at + meta::BEFORE, &id.to_le_bytes());
                    file.put(at + meta::COMMIT, &1u32.to_le_bytes());
                    file.put(at + meta::MAIN + tree::BIRTH, &id.to_le_bytes());
                }),
            ),
        ];
        for (name, file) in &files {
            (self.each)(name, file, Anything);
        }
    }
}
