// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/acquirable.hpp>
#include <tenure/cancel_on.hpp>
#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/connect.hpp>
#include <tenure/errc.hpp>
#include <tenure/etcd_store.hpp>
#include <tenure/holding.hpp>
#include <tenure/lease.hpp>
#include <tenure/lock.hpp>
#include <tenure/log.hpp>
#include <tenure/memory_store.hpp>
#include <tenure/options.hpp>
#include <tenure/owner.hpp>
#include <tenure/redis_cluster_store.hpp>
#include <tenure/redis_sentinel_store.hpp>
#include <tenure/redis_store.hpp>
#include <tenure/redlock_store.hpp>
#include <tenure/slot.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/statistics.hpp>
#include <tenure/store.hpp>
#include <tenure/version.hpp>
#include <tenure/with_lease.hpp>
#include <tenure/zookeeper_store.hpp>
