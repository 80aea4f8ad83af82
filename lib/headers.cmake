# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# The public headers, by name: what is not listed here is not installed (a test compares this list with the folder).
# Relative to include/tenure/; one header to a line, sorted.
set(TENURE_PUBLIC_HEADERS
    backend.hpp
    cancel_on.hpp
    cancellation_token.hpp
    clock.hpp
    connect.hpp
    detail/handler_executor.hpp
    detail/pool_run.hpp
    detail/strand_target.hpp
    detail/user_handler.hpp
    errc.hpp
    key_range.hpp
    lease.hpp
    lock.hpp
    log.hpp
    memory_store.hpp
    options.hpp
    redis_cluster_config.hpp
    redis_cluster_store.hpp
    redis_config.hpp
    redis_sentinel_config.hpp
    redis_sentinel_store.hpp
    redis_store.hpp
    redlock_config.hpp
    redlock_store.hpp
    runtime.hpp
    slot.hpp
    slot_pool.hpp
    statistics.hpp
    store.hpp
    tenure.hpp
    testing.hpp
    version.hpp
    with_lease.hpp
)
