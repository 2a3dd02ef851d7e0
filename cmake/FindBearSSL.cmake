# BearSSL ships no .pc file. Defines BearSSL::BearSSL.
find_path(BearSSL_INCLUDE_DIR bearssl.h PATH_SUFFIXES bearssl)
if(SRT_STATIC)
  find_library(BearSSL_LIBRARY libbearssl.a)
else()
  find_library(BearSSL_LIBRARY bearssl)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BearSSL
  REQUIRED_VARS BearSSL_LIBRARY BearSSL_INCLUDE_DIR)
if(BearSSL_FOUND AND NOT TARGET BearSSL::BearSSL)
  add_library(BearSSL::BearSSL UNKNOWN IMPORTED)
  set_target_properties(BearSSL::BearSSL PROPERTIES
    IMPORTED_LOCATION "${BearSSL_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${BearSSL_INCLUDE_DIR}")
endif()
