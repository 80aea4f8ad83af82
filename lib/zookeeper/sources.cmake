# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Relative to lib/; one source to a line, sorted. The config is checked in every build.
target_sources(
  tenure
  PRIVATE
    zookeeper/config.cpp
)

if(TENURE_ZOOKEEPER)
  target_sources(
    tenure
    PRIVATE
      zookeeper/backend.cpp
      zookeeper/claim.cpp
      zookeeper/client.cpp
      zookeeper/client_handle.cpp
      zookeeper/client_pending.cpp
      zookeeper/ensemble.cpp
      zookeeper/examine.cpp
      zookeeper/failure.cpp
      zookeeper/findings.cpp
      zookeeper/hold.cpp
      zookeeper/host_search.cpp
      zookeeper/ledger.cpp
      zookeeper/look.cpp
      zookeeper/node_names.cpp
      zookeeper/node_value.cpp
      zookeeper/ready.cpp
      zookeeper/session.cpp
      zookeeper/session_life.cpp
      zookeeper/watches.cpp
  )
  # The whole library sees the C client's header through one target, and hands it on to those who link it statically.
  target_link_libraries(tenure PRIVATE ZooKeeper::st)
endif()
