//! The functions of an interface: Huon's own, or those of another library that is loaded.

/// A struct `Api` with a field for each function, as the module names them.
#[macro_export]
macro_rules! functions {
    ($huon:ident; $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            pub(crate) fn huon() -> Api {
                Api { $($name: $huon::$name,)* }
            }

            /// Those of a library that stays loaded. What it lacks is Huon's own, which refuses
            /// the handles of others.
            pub(crate) fn of(library: &'static libloading::Library) -> Api {
                let name = |name: &'static str| name.as_bytes();
                // SAFETY: the functions are as their header says.
                unsafe {
                    Api {
                        $($name: library
                            .get(name(stringify!($name)))
                            .map_or($huon::$name, |found| *found),)*
                    }
                }
            }
        }
    };
}
