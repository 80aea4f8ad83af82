# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# The installed package: headers, library, tenureConfig.cmake for find_package and tenure.pc for pkg-config. Three
# components: tenure_runtime (the shared library), tenure_development, tenure_tool.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tenure")

install(
  TARGETS tenure tenure_testing
  EXPORT tenureTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT tenure_development
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          COMPONENT tenure_runtime
          NAMELINK_COMPONENT tenure_development
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT tenure_development)
install(EXPORT tenureTargets NAMESPACE tenure:: DESTINATION "${package_dir}" COMPONENT tenure_development)

# A static library hands its own dependencies on to every program that links it.
set(tenure_is_static TRUE)
if(TENURE_IS_SHARED)
  set(tenure_is_static FALSE)
endif()
set(tenure_ssl "")
if(TENURE_TLS)
  set(tenure_ssl SSL)
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tenureConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/tenureConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tenureConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tenureConfig.cmake" "${PROJECT_BINARY_DIR}/tenureConfigVersion.cmake"
        DESTINATION "${package_dir}" COMPONENT tenure_development)

if(tenure_is_static AND TENURE_ZOOKEEPER)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/FindZooKeeper.cmake" DESTINATION "${package_dir}"
          COMPONENT tenure_development)
endif()

# pkg-config does not know Boost, whose headers lie in the compiler's path on every usual system; elsewhere the path is
# named. A prefix relative to the file keeps the package movable.
set(pc_cflags "-pthread")
get_target_property(boost_includes Boost::headers INTERFACE_INCLUDE_DIRECTORIES)
foreach(directory IN LISTS boost_includes)
  if(NOT directory MATCHES "^\\$<" AND NOT directory IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    string(APPEND pc_cflags " -I${directory}")
  endif()
endforeach()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
  set(pc_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(pc_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  string(REGEX REPLACE "[^/]+" ".." pc_up "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  set(pc_prefix "\${pcfiledir}/${pc_up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
if(tenure_is_static)
  # There is no shared variant beside it: whoever links it always needs what it uses.
  set(pc_requires "Requires: spdlog, libcrypto")
  if(TENURE_TLS)
    set(pc_requires "Requires: spdlog, libssl, libcrypto")
  endif()
  set(pc_libs "")
  if(TENURE_POSTGRESQL)
    # With --static, libpq's own file for pkg-config names libraries that the package of libpq does not have.
    foreach(directory IN LISTS PostgreSQL_LIBRARY_DIRS)
      if(NOT directory IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
        string(APPEND pc_libs " -L${directory}")
      endif()
    endforeach()
    string(APPEND pc_libs " -lpq")
  endif()
  if(TENURE_ZOOKEEPER)
    # which brings no file of its own for pkg-config everywhere
    string(APPEND pc_libs " -lzookeeper_st")
  endif()
else()
  set(pc_requires "")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/tenure.pc.in" "${PROJECT_BINARY_DIR}/tenure.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tenure.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT tenure_development)

if(TENURE_POSTGRESQL)
  # what `tenure init --print` prints, for tools that migrate a schema
  file(READ "${PROJECT_SOURCE_DIR}/lib/store/postgresql/schema.cpp" schema)
  string(FIND "${schema}" "R\"sql(" begin)
  string(FIND "${schema}" ")sql\"" end REVERSE)
  math(EXPR begin "${begin} + 6")
  math(EXPR length "${end} - ${begin}")
  string(SUBSTRING "${schema}" ${begin} ${length} schema)
  file(WRITE "${PROJECT_BINARY_DIR}/postgresql.sql" "${schema};\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/store/postgresql/schema.cpp")
  install(FILES "${PROJECT_BINARY_DIR}/postgresql.sql" DESTINATION "${CMAKE_INSTALL_DATADIR}/tenure"
          COMPONENT tenure_development)
endif()
