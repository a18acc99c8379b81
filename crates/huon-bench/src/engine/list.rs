//! The list of engines. `build.rs` says which of them this build has, and why not the others.

use super::{Engine, Result};

/// An engine of the list.
#[derive(Clone, Copy)]
pub(crate) struct Listed {
    pub(crate) name: &'static str,
    /// Why this build does not have it.
    pub(crate) absent: Option<&'static str>,
}

/// Something to be done with an engine that is known by name only at run time.
pub(crate) trait Visit {
    type Out;

    fn visit<E: Engine>(self) -> Self::Out;
}

/// `[cfg] module "name" Type;`: an engine that is there if the cfg is. `build.rs` sets it, or else
/// says in `ABSENT_module` why not.
macro_rules! engines {
    ($([$cfg:meta] $module:ident $name:literal $engine:ident $(<$variant:literal>)?;)*) => {
        /// Every engine that there is a driver for, in the order of the tables.
        pub(crate) const ENGINES: &[Listed] = &[
            $(Listed {
                name: $name,
                absent: option_env!(concat!("ABSENT_", stringify!($module))),
            },)*
        ];

        /// Does `work` with the engine called `name`.
        pub(crate) fn visit<V: Visit>(name: &str, work: V) -> Result<V::Out> {
            match name {
                $(
                    #[cfg($cfg)]
                    $name => Ok(work.visit::<super::$module::$engine $(<$variant>)?>()),
                )*
                _ => Err(format!("this build has no engine called {name}").into()),
            }
        }
    };
}

engines! {
    [engine_huon] huon "huon" Huon<false>;
    [engine_huon] huon "huon-journal" Huon<true>;
    [engine_huon_lsm] huon_lsm "huon-lsm" HuonLsm<true>;
    [engine_huon_lsm] huon_lsm "huon-lsm-inline" HuonLsm<false>;
    [engine_lmdb] lmdb "lmdb" Lmdb<false>;
    [engine_lmdb] lmdb "lmdb-wm" Lmdb<true>;
    [engine_mdbx] mdbx "mdbx" Mdbx<false>;
    [engine_mdbx] mdbx "mdbx-wm" Mdbx<true>;
    [engine_redb] redb "redb" Redb;
    [engine_canopydb] canopydb "canopydb" Canopydb;
    [engine_fjall] fjall "fjall" Fjall;
    [engine_rocksdb] rocksdb "rocksdb" RocksDb;
    [engine_leveldb] leveldb "leveldb" LevelDb;
    [engine_bf_tree] bf_tree "bf-tree" BfTree;
    [engine_sqlite] sqlite "sqlite" Sqlite;
    [engine_bdb] bdb "bdb" Bdb;
    [all()] floor "null" Null;
    [all()] floor "raw" Raw;
}
