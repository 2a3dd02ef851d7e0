# The five libraries, as Debian packages them, behind one INTERFACE target.
find_package(PkgConfig REQUIRED)
find_package(BearSSL REQUIRED)
add_library(srtlua_deps INTERFACE)

set(modules lua5.4 libseccomp libuv zlib)
set(archives "liblua5.4.a" "libseccomp.a" "libuv_a.a\;libuv.a" "libz.a")
if(APPLE)
  set(modules lua5.4 libuv zlib)
  set(archives "liblua5.4.a" "libuv_a.a\;libuv.a" "libz.a")
endif()
if(SRT_STATIC)
  foreach(module archive IN ZIP_LISTS modules archives)
    pkg_check_modules(dep_${module} REQUIRED ${module})
    find_library(static_${module} NAMES ${archive} REQUIRED)
    target_link_libraries(srtlua_deps INTERFACE ${static_${module}})
    target_include_directories(srtlua_deps SYSTEM INTERFACE
      ${dep_${module}_INCLUDE_DIRS})
  endforeach()
  target_link_libraries(srtlua_deps INTERFACE m dl pthread)
else()
  foreach(module IN LISTS modules)
    pkg_check_modules(dep_${module} REQUIRED IMPORTED_TARGET ${module})
    target_link_libraries(srtlua_deps INTERFACE PkgConfig::dep_${module})
  endforeach()
  target_link_libraries(srtlua_deps INTERFACE pthread)
endif()
target_link_libraries(srtlua_deps INTERFACE BearSSL::BearSSL)

# dkjson (MIT) is pure Lua: Debian's copy is embedded as it is.
find_file(DKJSON dkjson.lua PATHS /usr/share/lua/5.4 /usr/local/share/lua/5.4
  REQUIRED NO_DEFAULT_PATH)
