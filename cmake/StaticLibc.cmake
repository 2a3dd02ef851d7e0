# Links libc into a program where that can be done: a fifth of a start is the
# dynamic linker's and the page faults of what it maps. glibc 2.34 and newer
# have in them what core/nss.c needs.
include(CheckCSourceCompiles)
include(CheckLinkerFlag)

function(static_libc target)
  set(CMAKE_REQUIRED_FLAGS -static-pie)
  check_c_source_compiles("
    #include <features.h>
    #if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 34)
    #error older
    #endif
    int main(void) { return 0; }" SRT_HAVE_STATIC_LIBC)
  if(NOT SRT_HAVE_STATIC_LIBC)
    return()
  endif()
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/core/nss_static.c)
  set_target_properties(${target} PROPERTIES SRT_STATIC_LIBC ON)
  target_link_options(${target} PRIVATE -Wl,--wrap=getaddrinfo)
  # It warns of every function that may load plugins; core/nss.c sees to that.
  check_linker_flag(C -Wl,--no-warnings SRT_HAVE_NO_WARNINGS)
  if(SRT_HAVE_NO_WARNINGS)
    target_link_options(${target} PRIVATE -Wl,--no-warnings)
  endif()
endfunction()
