# find_package(millpond) gives millpond::millpond, the shared library, and millpond::static. Both need no more than this
# folder, which may be anywhere.
get_filename_component(_millpond "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET millpond::millpond)
  add_library(millpond::millpond SHARED IMPORTED)
  set_target_properties(millpond::millpond PROPERTIES
    IMPORTED_LOCATION "${_millpond}/lib/libmillpond.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_millpond}/include")
  add_library(millpond::static STATIC IMPORTED)
  set_target_properties(millpond::static PROPERTIES
    IMPORTED_LOCATION "${_millpond}/lib/libmillpond.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_millpond}/include"
    INTERFACE_LINK_LIBRARIES "util;rt;pthread;m;dl")
endif()

unset(_millpond)
