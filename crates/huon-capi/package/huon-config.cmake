# The targets huon::huon (shared) and huon::static, wherever this tree has been moved to.
get_filename_component(huon_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET huon::huon)
  add_library(huon::huon SHARED IMPORTED)
  set_target_properties(huon::huon PROPERTIES
    IMPORTED_LOCATION "${huon_prefix}/lib/libhuon.so.0"
    IMPORTED_SONAME "libhuon.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${huon_prefix}/include")
  add_library(huon::static STATIC IMPORTED)
  set_target_properties(huon::static PROPERTIES
    IMPORTED_LOCATION "${huon_prefix}/lib/libhuon.a"
    INTERFACE_INCLUDE_DIRECTORIES "${huon_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()
