// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "master_stream.hpp"

#include <tenure/errc.hpp>

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis
{

namespace
{

/** Once the address is known the owner talks to the inner stream itself, and this one passes its calls on. */
class MasterStream final : public Stream, public MasterFollower, public std::enable_shared_from_this<MasterStream>
{
public:
    MasterStream(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<MasterDirectory> directory, StreamFactory streams,
        RedisConfig config)
        : runtime_(std::move(runtime))
        , directory_(std::move(directory))
        , streams_(std::move(streams))
        , config_(std::move(config))
    {
    }

    void connect(StreamEvents& events, Instant deadline) override
    {
        events_ = &events;
        question_ = directory_->find([weak = weak_from_this(), deadline](MasterDirectory::Answer const& answer) {
            auto const self = weak.lock();
            if (!self || self->events_ == nullptr)
                return;
            self->question_ = 0;
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

    void master_is_at(ServerAddress const& address) override
    {
        if (events_ == nullptr || !master_ || *master_ == address)
            return;
        StreamError error;
        error.code = make_error_code(errc::store_unavailable);
        error.detail = "the sentinels name another master now, " + to_string(address);
        events_->on_read(error, {});
    }

    void close() noexcept override
    {
        events_ = nullptr;
        directory_->forget(std::exchange(question_, 0));
        if (inner_ != nullptr)
            inner_->close();
    }

private:
    void connect_to(ServerAddress const& master, Instant deadline)
    {
        master_ = master;
        config_.host = master.host;
        config_.port = master.port;
        directory_->follow(weak_from_this());
        try {
            inner_ = streams_(runtime_, config_);
            inner_->connect(*events_, deadline);
        } catch (std::exception const& error) {
            events_->on_connected({make_error_code(errc::store_unavailable), error.what(), true});
        }
    }

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<MasterDirectory> directory_;
    StreamFactory streams_;
    RedisConfig config_;
    /// null before `connect` and once closed
    StreamEvents* events_ = nullptr;
    /// what the directory was asked and has not answered; 0: nothing
    std::uint64_t question_ = 0;
    std::optional<ServerAddress> master_;
    /// null until the address is known
    std::shared_ptr<Stream> inner_;
};

} // namespace

StreamFactory master_streams(std::shared_ptr<MasterDirectory> directory, StreamFactory streams)
{
    return [directory = std::move(directory),
            streams = std::move(streams)](std::shared_ptr<Runtime> const& runtime, RedisConfig const& config) {
        return std::make_shared<MasterStream>(runtime, directory, streams, config);
    };
}

} // namespace tenure::redis
