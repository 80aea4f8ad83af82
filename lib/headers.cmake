# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# The public headers, by name: what is not listed here is not installed (a test compares this list with the folder).
set(TENURE_PUBLIC_HEADERS
    backend.hpp
    clock.hpp
    errc.hpp
    key_range.hpp
    log.hpp
    redis_config.hpp
    runtime.hpp)
