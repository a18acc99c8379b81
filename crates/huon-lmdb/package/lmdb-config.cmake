# The targets lmdb::lmdb (shared) and lmdb::static, wherever this tree has been moved to.
get_filename_component(lmdb_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET lmdb::lmdb)
  add_library(lmdb::lmdb SHARED IMPORTED)
  set_target_properties(lmdb::lmdb PROPERTIES
    IMPORTED_LOCATION "${lmdb_prefix}/lib/liblmdb.so.0"
    IMPORTED_SONAME "liblmdb.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${lmdb_prefix}/include")
  add_library(lmdb::static STATIC IMPORTED)
  set_target_properties(lmdb::static PROPERTIES
    IMPORTED_LOCATION "${lmdb_prefix}/lib/liblmdb.a"
    INTERFACE_INCLUDE_DIRECTORIES "${lmdb_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()
