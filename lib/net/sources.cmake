# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# What stores behind a connection have in common; relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
    net/fork_watch.cpp
    net/name_lookup.cpp
    net/network_stream.cpp
    net/stream_dial.cpp
    net/tcp_stream.cpp
    net/unix_stream.cpp
)

if(TENURE_TLS)
  target_sources(tenure PRIVATE net/tls_stream.cpp)
  target_link_libraries(tenure PRIVATE OpenSSL::SSL)
endif()
