// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend for the master that sentinels name: the backend of one server, whose connections get the address from a
// MasterResolver.
#include "store/redis/backend.hpp"

#include "master_resolver.hpp"
#include "store/redis/config/config.hpp"
#include "store/redis/link/connection.hpp"

#include <tenure/errc.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tenure::redis
{

namespace
{

/** A stream to the current master: asks the resolver for the address, and ends when the sentinels name another master.
 *  Once the address is known, the owner calls the inner stream directly, and this one passes its calls on. */
class MasterStream final : public Stream, public std::enable_shared_from_this<MasterStream>
{
public:
    MasterStream(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<MasterResolver> resolver, StreamFactory streams,
        RedisConfig config)
        : runtime_(std::move(runtime))
        , resolver_(std::move(resolver))
        , streams_(std::move(streams))
        , config_(std::move(config))
    {
    }

    void connect(StreamEvents& events, Instant deadline) override
    {
        events_ = &events;
        request_ = resolver_->find([weak = weak_from_this(), deadline](MasterResolver::Answer const& answer) {
            auto const self = weak.lock();
            if (!self || self->events_ == nullptr)
                return;
            self->request_ = 0;
            if (auto const* const master = std::get_if<ServerAddress>(&answer))
                self->connect_to(*master, deadline);
            else
                self->events_->on_connected(std::get<StreamError>(answer));
        });
    }

    void read() override { inner_->read(); }
    std::size_t write_now(std::string_view bytes) override { return inner_->write_now(bytes); }
    void write(std::string bytes) override { inner_->write(std::move(bytes)); }
    [[nodiscard]] std::string peer() const override { return master_ ? to_string(*master_) : std::string(); }

    [[nodiscard]] StreamError overdue() const override { return inner_ ? inner_->overdue() : StreamError(); }

    void close() noexcept override
    {
        events_ = nullptr;
        resolver_->forget(std::exchange(request_, 0));
        if (inner_ != nullptr)
            inner_->close();
    }

private:
    void connect_to(ServerAddress const& master, Instant deadline)
    {
        master_ = master;
        config_.host = master.host;
        config_.port = master.port;
        resolver_->follow(weak_from_this(), [this](ServerAddress const& now) { end_if_elsewhere(now); });
        try {
            inner_ = streams_(runtime_, config_);
            inner_->connect(*events_, deadline);
        } catch (std::exception const& error) {
            events_->on_connected({make_error_code(errc::store_unavailable), error.what(), true});
        }
    }

    /** Ends as if the server had closed the connection, so pending requests end as after a lost connection. */
    void end_if_elsewhere(ServerAddress const& master)
    {
        if (events_ == nullptr || master_ == master)
            return;
        std::string detail = "the sentinels name another master now, " + to_string(master);
        events_->on_read({make_error_code(errc::store_unavailable), std::move(detail), false}, {});
    }

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<MasterResolver> resolver_;
    StreamFactory streams_;
    RedisConfig config_;
    /// null before `connect` and after `close`
    StreamEvents* events_ = nullptr;
    /// id of the unanswered request to the resolver; 0: none
    std::uint64_t request_ = 0;
    std::optional<ServerAddress> master_;
    /// null until the address is known
    std::shared_ptr<Stream> inner_;
};

/** Makes streams to the master out of `streams`. */
StreamFactory master_streams(std::shared_ptr<MasterResolver> resolver, StreamFactory streams)
{
    return [resolver = std::move(resolver),
            streams = std::move(streams)](std::shared_ptr<Runtime> const& runtime, RedisConfig const& config) {
        return std::make_shared<MasterStream>(runtime, resolver, streams, config);
    };
}

} // namespace

std::shared_ptr<Backend>
make_backend(std::shared_ptr<Runtime> runtime, RedisSentinelConfig const& config, StreamFactory streams)
{
    check_config(config);
    streams = with_address_map(std::move(streams), config.address_map);
    auto const name = describe(config);

    auto const to_sentinel =
        connect_like(runtime, sentinel_login(config), streams, {.name = name, .quiet = true, .carries_leases = false});
    auto ask = [to_sentinel](ServerAddress const& sentinel) {
        return to_sentinel(sentinel)("sentinel " + to_string(sentinel));
    };
    auto const resolver = std::make_shared<MasterResolver>(
        runtime, MasterResolver::Settings{name, config.master_name, config.sentinels, config.connect_timeout},
        std::move(ask));

    auto const server = server_config(config);
    auto const to_master = connections_to(
        runtime, server, master_streams(resolver, streams),
        {.name = name, .master_only = true, .proves_scripts = true});
    auto connect = [resolver, to_master](std::string_view purpose) {
        auto connection = to_master(purpose);
        resolver->follow(connection, [raw = connection.get()](ServerAddress const&) { raw->hurry(); });
        return connection;
    };
    BackendSettings settings{name, config.replicas, config.delay_after_failover};
    settings.connect_to = connect_to_replicas(runtime, server, std::move(streams));
    settings.lock_layout = config.lock_layout;
    settings.closed = [resolver] { resolver->close(); };
    return make_backend(std::move(runtime), std::move(connect), std::move(settings));
}

} // namespace tenure::redis
