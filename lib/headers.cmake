# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# The public headers, by name: what is not listed here is not installed (a test compares this list with the folder).
# Relative to include/tenure/; one header to a line, sorted. features.cmake writes one more.
set(TENURE_PUBLIC_HEADERS
    acquirable.hpp
    acquirable_keys.hpp
    backend/backend.hpp
    backend/deadline.hpp
    backend/one_shot.hpp
    backend/renew_each.hpp
    backend/runtime.hpp
    backend/share.hpp
    backend/strand.hpp
    cancel_on.hpp
    cancellation_token.hpp
    clock.hpp
    detail/api.hpp
    detail/execution_context.hpp
    detail/handler_executor.hpp
    detail/handler_memory.hpp
    detail/initiate.hpp
    detail/leased_work.hpp
    detail/leave_key.hpp
    detail/on_cancel.hpp
    detail/run_held.hpp
    detail/served_operation.hpp
    detail/work.hpp
    election.hpp
    errc.hpp
    error.hpp
    event.hpp
    holder.hpp
    inspection.hpp
    key_range.hpp
    lease.hpp
    lease_like.hpp
    lease_set.hpp
    lock.hpp
    log.hpp
    metrics.hpp
    metrics_page.hpp
    multi_lock.hpp
    open_store.hpp
    options.hpp
    owner.hpp
    read_write_lock.hpp
    reentrant_lease.hpp
    reentrant_lock.hpp
    run.hpp
    segmented_lock.hpp
    segments.hpp
    semaphore.hpp
    serve.hpp
    shard_group.hpp
    slot.hpp
    slot_pool.hpp
    statistics.hpp
    store.hpp
    stores/credentials.hpp
    stores/endpoint.hpp
    stores/etcd.hpp
    stores/file.hpp
    stores/memory.hpp
    stores/redis.hpp
    stores/redis_cluster.hpp
    stores/redis_sentinel.hpp
    stores/redlock.hpp
    stores/tls_config.hpp
    stores/zookeeper.hpp
    task_group.hpp
    tenure.hpp
    testing.hpp
    version.hpp
    view.hpp
    with_details.hpp
    with_lease.hpp
)
# That of tenure::prometheus, which is installed with it.
set(TENURE_PROMETHEUS_HEADERS prometheus.hpp)
# That of tenure::opentelemetry, likewise.
set(TENURE_OPENTELEMETRY_HEADERS opentelemetry.hpp)
# Those of the conformance suite, which is installed with them unless TENURE_CONFORMANCE is off.
set(TENURE_CONFORMANCE_HEADERS
    conformance/client.hpp
    conformance/expect.hpp
    conformance/renewals.hpp
    conformance/subject.hpp
)
