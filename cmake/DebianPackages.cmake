# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# What `cpack -G DEB` makes of a static build: libtenure-dev, for programs that use the library, and tenure, the
# command-line program. Configure with CMAKE_INSTALL_PREFIX=/usr, as the preset deb does: GNUInstallDirs then chooses
# Debian's folders.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenure)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "tenure maintainers <maintainers@tenure.invalid>")
# would come before each package's own
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_COMPONENTS_ALL tenure_development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/debian/finish.cmake")

# The library is an archive that was compiled against these: a consumer needs the very same Boost, whose types cross the
# border of the library, and the same spdlog, whose symbols the archive asks for.
math(EXPR spdlog_next "${spdlog_VERSION_MINOR} + 1")
set(spdlog "${spdlog_VERSION_MAJOR}.${spdlog_VERSION_MINOR}")
set(development_needs
    "libboost${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev"
    "libspdlog-dev (>= 1:${spdlog})"
    "libspdlog-dev (<< 1:${spdlog_VERSION_MAJOR}.${spdlog_next}~)"
    "libssl-dev (>= 3.0)")
if(TENURE_POSTGRESQL)
  list(APPEND development_needs "libpq-dev (>= 14)")
endif()
if(TENURE_ZOOKEEPER)
  list(APPEND development_needs "libzookeeper-st-dev (>= 3.5)")
endif()
list(JOIN development_needs ", " CPACK_DEBIAN_TENURE_DEVELOPMENT_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_TENURE_DEVELOPMENT_PACKAGE_NAME libtenure-dev)
set(CPACK_DEBIAN_TENURE_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TENURE_DEVELOPMENT_DESCRIPTION
    "asynchronous leases for Boost.Asio: static library and headers
Distributed locks and pools of numbered slots, on Redis, Valkey, etcd, in a
directory or in memory. A holder is notified before its lease expires. This
package has the headers, the static libraries, and the files for CMake and
pkg-config.")

if(TENURE_BUILD_TOOL)
  list(APPEND CPACK_COMPONENTS_ALL tenure_tool)
  set(CPACK_DEBIAN_TENURE_TOOL_PACKAGE_NAME tenure)
  set(CPACK_DEBIAN_TENURE_TOOL_PACKAGE_SECTION utils)
  set(CPACK_DEBIAN_TENURE_TOOL_PACKAGE_SHLIBDEPS ON)
  # what a store with TLS is trusted by
  set(CPACK_DEBIAN_TENURE_TOOL_PACKAGE_RECOMMENDS "ca-certificates")
  set(CPACK_DEBIAN_TENURE_TOOL_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/packaging/debian/postinst"
                                                     "${PROJECT_SOURCE_DIR}/packaging/debian/postrm")
  set(CPACK_DEBIAN_TENURE_TOOL_DESCRIPTION
      "run programs under a distributed lock or a numbered slot
Runs a command while it holds a lease in a directory of this machine, in Redis,
Valkey or etcd, elects a leader among processes, and shows who holds which
lease. This package has the program, its manual page, and completions for bash,
zsh and fish.")
endif()
include(CPack)
