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
install(DIRECTORY policies/ DESTINATION ${CMAKE_INSTALL_DATADIR}/srt-lua/policies
  FILES_MATCHING PATTERN "*.lua")
install(FILES README.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
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
