// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/detail/execution_context.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <string_view>
#include <utility>

namespace tenure
{

/** Opens the store that a URL names. Returns at once: it connects on first use, and `Store::async_ready` waits for
 * that. The other kinds of this function take the config of one kind of store, for example `RedisConfig`.
 *
 *  | URL | store |
 *  | --- | --- |
 *  | `memory://`, `memory://NAME` | inside this process; stores opened with the same name share their keys |
 *  | `file:///path`, `file://`, `file:` | a directory for processes of this machine; without a path: the user's |
 *  | `redis://[[user]:password@]host[:port][/database]` | one Redis or Valkey server |
 *  | `rediss://...` | the same over TLS; options `?tls_ca=`, `tls_cert=`, `tls_key=`, `tls_server_name=` |
 *  | `redis+unix:///path/to/socket[?db=0]` | the same over a Unix socket |
 *  | `redis+sentinel://[[user]:password@]host[:port][,...]/master[/database]` | the master that sentinels name |
 *  | `rediss+sentinel://...` | the same over TLS, with the servers and with the sentinels |
 *  | `redis+cluster://[[user]:password@]host[:port][,...]` | a Redis Cluster, found through any of these nodes |
 *  | `rediss+cluster://...` | the same over TLS |
 *  | `redlock://[[user]:password@]host[:port],host[:port],...[/database]` | a majority of 3, 5, ... servers |
 *  | `redlocks://...` | the same over TLS |
 *  | `etcd://[user:password@]host[:port][,...]` | etcd 3.4 or newer, through any of these members of a cluster |
 *  | `etcds://...` | the same over TLS |
 *  | `postgresql://[user[:password]@]host[:port][,...]/database`, `postgres://` | a PostgreSQL database |
 *  | `zookeeper://[user:password@]host[:port][,...][/chroot]` | a ZooKeeper server or ensemble |
 *
 *  docs/users/choosing-a-store.md compares them.
 *
 *  `file` URLs take `any_filesystem=true` (see FileConfig).
 *
 *  All `redis`, `redlock` and `etcd` URLs take `connect_timeout=` and `reconnect_backoff=`, and over TLS the options of
 * `rediss://` and `tls_verify=`. `etcd` URLs take `connections=`; `zookeeper` URLs `tick=`, `shortest_ttl=`,
 * `longest_ttl=` and `connect_timeout=` (see ZookeeperConfig).
 *
 *  `redis`, `rediss`, `redis+unix` and those with `+sentinel` take `replicas=k` and `replicas_within=50ms`: only what k
 * replicas have acknowledged counts as granted or renewed (see ReplicaAcknowledgement). They and those with `+cluster`
 * take `delay_after_failover=true`, which closes claims for a while after a failover (see RedisConfig), and
 * `lock_layout=redisson`, which shares the keys of locks with Redisson's clients (see LockLayout).
 *
 *  The hosts of a `+sentinel` URL are sentinels (default port 26379). They have options of their own: `sentinel_user=`,
 *  `sentinel_password=`, `sentinel_tls=true` or `false`, `sentinel_tls_ca=` and so on. TLS options that are
 * left out are those of the servers; user and password never are.
 *
 *  @param executor  the default executor of handlers. Renewals and the library's other work run on a strand over it, or
 *    on the store's own thread (`StoreOptions::own_thread`). Without that thread, a handler that blocks all threads of
 *    the context for too long loses leases (see Store)
 *  @throws std::invalid_argument naming the error in the URL or the options; the message never contains the password
 */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, std::string_view url, StoreOptions options);

/** Opens a store from a context and a URL or the config of a kind of store, such as `RedisConfig`. */
template <detail::ExecutionContext Context, class Config>
[[nodiscard]] Store open_store(Context& context, Config&& config, StoreOptions options)
{
    return open_store(
        boost::asio::any_io_executor(context.get_executor()), std::forward<Config>(config), std::move(options));
}

/** Overload with default options. Not a default argument: g++ 12 destroys it twice if the call contains a `co_await`,
 * as in `open_store(co_await asio::this_coro::executor, url)`. For the same reason name a config before such a call. */
template <class ExecutorOrContext, class Config>
[[nodiscard]] Store open_store(ExecutorOrContext&& where, Config&& config)
{
    return open_store(std::forward<ExecutorOrContext>(where), std::forward<Config>(config), StoreOptions{});
}

} // namespace tenure
