//! Files made to mislead, and bytes from seeds for the fuzz targets.

mod files;
mod fuzz;
