# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Relative to lib/; one source to a line, sorted. The config is checked in every build.
target_sources(
  tenure
  PRIVATE
    etcd/config.cpp
)

if(TENURE_ETCD)
  target_sources(
    tenure
    PRIVATE
      etcd/backend.cpp
      etcd/base64.cpp
      etcd/claim.cpp
      etcd/client.cpp
      etcd/connection.cpp
      etcd/detach.cpp
      etcd/evict.cpp
      etcd/examine.cpp
      etcd/findings.cpp
      etcd/gateway_error.cpp
      etcd/inspect.cpp
      etcd/json_source.cpp
      etcd/leases.cpp
      etcd/message_replies.cpp
      etcd/messages.cpp
      etcd/range_keys.cpp
      etcd/ready.cpp
      etcd/rebind.cpp
      etcd/release.cpp
      etcd/renewals.cpp
      etcd/reply_reader.cpp
      etcd/watcher.cpp
      etcd/withdraw.cpp
  )
endif()
