# The targets huon_mdbx::huon_mdbx (shared) and ::static, wherever this tree has been moved to.
get_filename_component(huon_mdbx_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET huon_mdbx::huon_mdbx)
  add_library(huon_mdbx::huon_mdbx SHARED IMPORTED)
  set_target_properties(huon_mdbx::huon_mdbx PROPERTIES
    IMPORTED_LOCATION "${huon_mdbx_prefix}/lib/libhuon_mdbx.so.0"
    IMPORTED_SONAME "libhuon_mdbx.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${huon_mdbx_prefix}/include")
  add_library(huon_mdbx::static STATIC IMPORTED)
  set_target_properties(huon_mdbx::static PROPERTIES
    IMPORTED_LOCATION "${huon_mdbx_prefix}/lib/libhuon_mdbx.a"
    INTERFACE_INCLUDE_DIRECTORIES "${huon_mdbx_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()
