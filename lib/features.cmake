# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# What this build has, in a header for users and for the library itself: tenure/features.hpp.
foreach(feature ETCD FILE OPENTELEMETRY POSTGRESQL PROMETHEUS TLS ZOOKEEPER)
  set(TENURE_HAS_${feature} 0)
  if(TENURE_${feature})
    set(TENURE_HAS_${feature} 1)
  endif()
endforeach()
get_target_property(tenure_type tenure TYPE)
set(TENURE_IS_SHARED 0)
if(tenure_type STREQUAL "SHARED_LIBRARY")
  set(TENURE_IS_SHARED 1)
endif()

set(features_header "${PROJECT_BINARY_DIR}/include/tenure/features.hpp")
configure_file("${PROJECT_SOURCE_DIR}/cmake/features.hpp.in" "${features_header}" @ONLY)
