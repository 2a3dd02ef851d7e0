# What is installed, and the Debian package made of it. tools/release makes the
# static tarball, of the same.
install(TARGETS srt-lua RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Only where it is asked for, and never in the place of the srt of npm.
if(SRT_INSTALL_SRT)
  install(CODE "
    set(link \"\$ENV{DESTDIR}${CMAKE_INSTALL_FULL_BINDIR}/srt\")
    set(to \"\")
    if(IS_SYMLINK \"\${link}\")
      file(READ_SYMLINK \"\${link}\" to)
    endif()
    if(EXISTS \"\${link}\" AND NOT to STREQUAL srt-lua)
      message(FATAL_ERROR \"\${link} is another program; remove it first\")
    endif()
    file(CREATE_LINK srt-lua \"\${link}\" SYMBOLIC)
    message(STATUS \"Installing: \${link}\")")
endif()

install(FILES man/srt-lua.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES man/srt-lua-policy.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
# What shells complete is told by the program itself. zsh looks into the one folder
# in Debian's /usr, into the other elsewhere.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completions)
foreach(entry IN ITEMS bash:bash-completion/completions:srt-lua
    zsh:zsh/vendor-completions:_srt-lua zsh:zsh/site-functions:_srt-lua
    fish:fish/vendor_completions.d:srt-lua.fish)
  string(REPLACE ":" ";" entry ${entry})
  list(GET entry 0 shell)
  list(GET entry 1 folder)
  list(GET entry 2 name)
  set(file ${PROJECT_BINARY_DIR}/completions/${shell})
  add_custom_command(TARGET srt-lua POST_BUILD VERBATIM
    COMMAND sh -c "unset SRT_LUA_PATH; exec \"$0\" completions \"$1\" >\"$2\""
      $<TARGET_FILE:srt-lua> ${shell} ${file})
  install(FILES ${file} RENAME ${name}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endforeach()
# What editors know of a policy, and of settings.
set(file ${PROJECT_BINARY_DIR}/completions/schema)
add_custom_command(TARGET srt-lua POST_BUILD VERBATIM
  COMMAND sh -c "unset SRT_LUA_PATH; exec \"$0\" convert --schema >\"$1\""
    $<TARGET_FILE:srt-lua> ${file})
install(FILES ${file} RENAME settings.schema.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/srt-lua)
install(FILES lua/meta/srt.d.lua lua/meta/tables.d.lua lua/meta/policy.d.lua
  lua/meta/test.d.lua
  DESTINATION ${CMAKE_INSTALL_DATADIR}/srt-lua/meta)
install(DIRECTORY policies/ DESTINATION ${CMAKE_INSTALL_DATADIR}/srt-lua/policies
  FILES_MATCHING PATTERN "*.lua")
install(FILES README.md SECURITY.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Links of README.md lead to docs/ there as well.
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
  FILES_MATCHING PATTERN "*.md" PATTERN src EXCLUDE)
set(SRT_PROFILE_TEMPLATE ${PROJECT_SOURCE_DIR}/tools/apparmor/srt-lua)
configure_file(cmake/InstallProfile.cmake.in InstallProfile.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/InstallProfile.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME srt-lua)
set(CPACK_PACKAGE_CONTACT "The srt-lua authors <srt-lua@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DESCRIPTION "srt-lua runs a command with no more of this machine than a policy allows: files,
network, single HTTP requests. A policy is a Lua program.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
# What the program is linked with, with the versions that have its symbols.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bubblewrap, git")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/cmake/debian/postinst
  ${PROJECT_SOURCE_DIR}/cmake/debian/postrm)
include(CPack)
