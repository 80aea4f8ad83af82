// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

/** @namespace tenure
 *  Leases on the keys of a store: locks, pools of numbered slots, elections.
 *
 *  @namespace tenure::conformance
 *  The suite that every store has to pass.
 *
 *  @namespace tenure::testing
 *  Virtual time, and a store that fails on demand, for tests of programs. */

#include <tenure/acquirable.hpp>
#include <tenure/acquirable_keys.hpp>
#include <tenure/cancel_on.hpp>
#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/election.hpp>
#include <tenure/errc.hpp>
#include <tenure/error.hpp>
#include <tenure/event.hpp>
#include <tenure/features.hpp>
#include <tenure/holder.hpp>
#include <tenure/lease.hpp>
#include <tenure/lease_like.hpp>
#include <tenure/lease_set.hpp>
#include <tenure/lock.hpp>
#include <tenure/log.hpp>
#include <tenure/metrics.hpp>
#include <tenure/multi_lock.hpp>
#include <tenure/open_store.hpp>
#include <tenure/options.hpp>
#include <tenure/owner.hpp>
#include <tenure/read_write_lock.hpp>
#include <tenure/reentrant_lease.hpp>
#include <tenure/reentrant_lock.hpp>
#include <tenure/run.hpp>
#include <tenure/segmented_lock.hpp>
#include <tenure/semaphore.hpp>
#include <tenure/serve.hpp>
#include <tenure/shard_group.hpp>
#include <tenure/slot.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/statistics.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/etcd.hpp>
#include <tenure/stores/memory.hpp>
#include <tenure/stores/redis.hpp>
#include <tenure/stores/redis_cluster.hpp>
#include <tenure/stores/redis_sentinel.hpp>
#include <tenure/stores/redlock.hpp>
#include <tenure/stores/zookeeper.hpp>
#include <tenure/task_group.hpp>
#include <tenure/version.hpp>
#include <tenure/view.hpp>
#include <tenure/with_details.hpp>
#include <tenure/with_lease.hpp>
