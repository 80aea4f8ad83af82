# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# The C client of Apache ZooKeeper in its single-threaded form: the target ZooKeeper::st.
find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_ST_LIBRARY zookeeper_st)
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_ST_LIBRARY)

if(ZooKeeper_INCLUDE_DIR AND EXISTS "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h")
  file(STRINGS "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h" version_line REGEX "#define +ZOO_VERSION ")
  if(version_line MATCHES "\"([0-9.]+)\"")
    set(ZooKeeper_VERSION "${CMAKE_MATCH_1}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  ZooKeeper
  REQUIRED_VARS ZooKeeper_ST_LIBRARY ZooKeeper_INCLUDE_DIR
  VERSION_VAR ZooKeeper_VERSION)

if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::st)
  add_library(ZooKeeper::st UNKNOWN IMPORTED)
  set_target_properties(ZooKeeper::st PROPERTIES IMPORTED_LOCATION "${ZooKeeper_ST_LIBRARY}"
                                                 INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}")
endif()
