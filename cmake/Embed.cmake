# embed_lua(<target> <generated.c> NAME=PATH ...): writes the Lua files into
# one C file (lua/embedded.h reads it). A NAME that starts with "text:" keeps
# its source text; the others are precompiled.
add_executable(embed ${PROJECT_SOURCE_DIR}/tools/embed.c)
target_link_libraries(embed PRIVATE srtlua_flags srtlua_deps)

function(embed_lua target generated)
  set(paths)
  foreach(pair IN LISTS ARGN)
    string(REGEX REPLACE "^[^=]*=" "" path "${pair}")
    list(APPEND paths "${path}")
  endforeach()
  add_custom_command(OUTPUT ${generated}
    COMMAND embed ${generated} ${ARGN}
    DEPENDS embed ${paths} VERBATIM)
  target_sources(${target} PRIVATE ${generated})
endfunction()
