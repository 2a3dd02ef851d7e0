# Compiler and linker flags live in one INTERFACE target; nothing is global.
add_library(srtlua_flags INTERFACE)
target_compile_features(srtlua_flags INTERFACE c_std_11)
target_compile_definitions(srtlua_flags INTERFACE _GNU_SOURCE)
target_compile_options(srtlua_flags INTERFACE
  -std=gnu11 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes
  -Wmissing-prototypes -Wpointer-arith -Wformat=2 -Wvla -fno-strict-aliasing
  -fno-common -fPIC)
target_include_directories(srtlua_flags INTERFACE ${PROJECT_SOURCE_DIR})

if(SRT_SANITIZE)
  # -O1 keeps the stack traces honest and the tests quick enough.
  target_compile_options(srtlua_flags INTERFACE
    -O1 -g -fno-omit-frame-pointer -fsanitize=${SRT_SANITIZE}
    -fno-sanitize-recover=all)
  target_link_options(srtlua_flags INTERFACE -fsanitize=${SRT_SANITIZE})
else()
  target_compile_options(srtlua_flags INTERFACE
    -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong)
  if(NOT APPLE)
    target_compile_options(srtlua_flags INTERFACE -fstack-clash-protection
      $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection>)
  endif()
endif()
if(SRT_FUZZ)
  # Coverage feedback; the fuzz programs themselves link the fuzzer's main().
  target_compile_options(srtlua_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(APPLE)
  # The rest is how its linker works anyway.
  return()
endif()
target_link_options(srtlua_flags INTERFACE
  $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<IF:$<BOOL:$<TARGET_PROPERTY:SRT_STATIC_LIBC>>,-static-pie,-pie>>
  -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
