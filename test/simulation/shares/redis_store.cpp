// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The layer of shares over the Redis store, whose connections lead to a server in this process.
#include "redis_server.hpp"
#include "shared_store.hpp"

#include "random.hpp"

#include <store/redis/backend.hpp>
#include <store/redis/link/stream.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::simulation
{

namespace
{

namespace asio = boost::asio;
using net::error_code;

class RedisLink;

/** Both ends of one connection. Bytes arrive in order. Once some were lost, no further ones arrive. */
class Connection final : public net::Stream, public std::enable_shared_from_this<Connection>
{
public:
    explicit Connection(std::shared_ptr<RedisLink> link);
    ~Connection() override;

    void connect(net::StreamEvents& events, Instant) override;
    void read() override
    {
        reading_ = true;
        notify();
    }
    std::size_t write_now(std::string_view bytes) override
    {
        send(bytes);
        return bytes.size();
    }
    void write(std::string bytes) override
    {
        send(bytes);
        tell([bytes = std::move(bytes)](Connection& self) mutable {
            auto const size = bytes.size();
            self.events_->on_written({}, size, std::move(bytes));
        });
    }
    void close() noexcept override;

    /** Breaks: the process sees it, and what it has sent still arrives. */
    void reset();
    /** It has lost bytes, and the process still uses it. */
    [[nodiscard]] bool is_mute() const noexcept { return events_ != nullptr && (mute_up_ || mute_down_); }

private:
    void send(std::string_view bytes);
    void arrived(std::string_view bytes);
    void reply(Reply const& reply);
    /** Delivers what came, or the end. */
    void notify();
    /** Runs the function on the strand of the process, unless the connection is closed by then. */
    template <class Function>
    void tell(Function function);

    std::shared_ptr<RedisLink> link_;
    /// null: closed by the process
    net::StreamEvents* events_ = nullptr;
    bool reading_ = false;
    error_code broken_;
    bool mute_up_ = false;
    bool mute_down_ = false;
    /// when the last bytes arrive, each way
    Instant last_up_{};
    Instant last_down_{};
    RequestReader reader_;
    ShareServer::Client client_;
    /// arrived at the process, and what it reads now
    std::string input_;
    std::string current_;
};

class RedisLink final : public ProcessLink, public std::enable_shared_from_this<RedisLink>
{
public:
    RedisLink(testing::VirtualTime& time, std::shared_ptr<ShareServer> server, std::uint64_t seed)
        : time_(time)
        , server_(std::move(server))
        , random_(seed, 93)
    {
    }

    std::shared_ptr<Backend> backend(std::shared_ptr<Runtime> runtime) override
    {
        runtime_ = runtime;
        return redis::make_backend(
            std::move(runtime), RedisConfig(),
            [self = shared_from_this()](std::shared_ptr<Runtime> const&, RedisConfig const&) {
                auto const made = std::make_shared<Connection>(self);
                std::erase_if(self->connections_, [](auto const& one) { return one.expired(); });
                self->connections_.push_back(made);
                return made;
            });
    }

    void set_reachable(bool reachable) override
    {
        reachable_ = reachable;
        note_trouble();
        if (!reachable)
            for (auto const& connection : open_connections())
                connection->reset();
    }
    void set_loses(bool requests, bool replies) override
    {
        note_trouble();
        loses_requests_ = requests;
        loses_replies_ = replies;
    }
    void set_loses_news(bool lost) override
    {
        note_trouble();
        loses_news_ = lost;
    }
    void set_longest_delay(std::chrono::microseconds delay) override { longest_delay_ = delay; }
    void die() override { dead_ = true; }
    Instant last_trouble() const override
    {
        bool troubled = !reachable_ || loses_requests_ || loses_replies_ || loses_news_;
        for (auto const& connection : open_connections())
            troubled = troubled || connection->is_mute();
        return troubled ? time_.now() : last_trouble_;
    }

    void note_trouble() { last_trouble_ = time_.now(); }
    [[nodiscard]] bool dead() const noexcept { return dead_; }
    [[nodiscard]] bool reachable() const noexcept { return reachable_; }
    [[nodiscard]] bool loses_requests() const noexcept { return loses_requests_; }
    [[nodiscard]] bool loses_replies(bool news) const noexcept { return loses_replies_ || (news && loses_news_); }
    [[nodiscard]] ShareServer& server() noexcept { return *server_; }
    /** When bytes arrive that are sent now, behind others. The server counts whole milliseconds. */
    [[nodiscard]] Instant arrival(Instant after)
    {
        auto const most = std::chrono::ceil<std::chrono::milliseconds>(longest_delay_).count();
        auto const way = std::chrono::milliseconds(random_.between(0, most));
        return std::max<Instant>(after, std::chrono::ceil<std::chrono::milliseconds>(time_.now() + way));
    }
    void at(Instant when, Task task) { time_.state()->at(when, std::move(task)); }
    void post(Task task)
    {
        if (auto const runtime = runtime_.lock(); runtime && !dead_)
            runtime->post(std::move(task));
    }

private:
    [[nodiscard]] std::vector<std::shared_ptr<Connection>> open_connections() const
    {
        std::vector<std::shared_ptr<Connection>> open;
        for (auto const& weak : connections_)
            if (auto connection = weak.lock())
                open.push_back(std::move(connection));
        return open;
    }

    testing::VirtualTime& time_;
    std::shared_ptr<ShareServer> server_;
    Random random_;
    std::weak_ptr<Runtime> runtime_;
    std::chrono::microseconds longest_delay_{0};
    bool reachable_ = true;
    bool loses_requests_ = false;
    bool loses_replies_ = false;
    bool loses_news_ = false;
    bool dead_ = false;
    Instant last_trouble_{};
    std::vector<std::weak_ptr<Connection>> connections_;
};

Connection::Connection(std::shared_ptr<RedisLink> link)
    : link_(std::move(link))
{
}

Connection::~Connection()
{
    link_->server().closed(client_);
}

template <class Function>
void Connection::tell(Function function)
{
    link_->post([self = shared_from_this(), function = std::move(function)]() mutable {
        if (self->events_ != nullptr)
            function(*self);
    });
}

void Connection::connect(net::StreamEvents& events, Instant)
{
    events_ = &events;
    link_->at(link_->arrival({}), [self = shared_from_this()] {
        if (self->events_ == nullptr)
            return;
        if (!self->link_->reachable())
            self->broken_ = asio::error::connection_refused;
        else {
            self->client_.send = [weak = self->weak_from_this()](Reply const& reply) {
                if (auto const connection = weak.lock())
                    connection->reply(reply);
            };
            self->link_->server().opened(self->client_);
        }
        self->tell([](Connection& one) { one.events_->on_connected({one.broken_, {}, false}); });
    });
}

void Connection::close() noexcept
{
    if (is_mute())
        link_->note_trouble();
    events_ = nullptr;
    link_->server().closed(client_);
}

void Connection::reset()
{
    if (broken_)
        return;
    broken_ = asio::error::connection_reset;
    link_->server().closed(client_);
    notify();
}

void Connection::send(std::string_view bytes)
{
    mute_up_ = mute_up_ || link_->loses_requests();
    if (mute_up_ || broken_ || link_->dead())
        return;
    last_up_ = link_->arrival(last_up_);
    link_->at(last_up_, [self = shared_from_this(), bytes = std::string(bytes)] { self->arrived(bytes); });
}

void Connection::arrived(std::string_view bytes)
{
    reader_.feed(bytes);
    for (Request request; reader_.next(request) == RequestReader::Status::complete;)
        link_->server().execute(client_, request.words);
}

void Connection::reply(Reply const& reply)
{
    mute_down_ = mute_down_ || link_->loses_replies(!client_.channels.empty());
    if (mute_down_ || broken_)
        return;
    std::string bytes;
    reply.append_to(bytes, 3);
    last_down_ = link_->arrival(last_down_);
    link_->at(last_down_, [self = shared_from_this(), bytes = std::move(bytes)] {
        if (self->broken_)
            return;
        self->input_ += bytes;
        self->notify();
    });
}

void Connection::notify()
{
    if (!reading_ || (input_.empty() && !broken_))
        return;
    reading_ = false;
    tell([](Connection& self) {
        self.current_ = std::exchange(self.input_, {});
        self.events_->on_read({self.current_.empty() ? self.broken_ : error_code(), {}, false}, self.current_);
    });
}

class RedisStore final : public SharedStore
{
public:
    RedisStore(testing::VirtualTime& time, PlaceBook& book)
        : time_(time)
        , server_(std::make_shared<ShareServer>(time, book))
    {
    }

    std::shared_ptr<ProcessLink> link(std::uint64_t seed) override
    {
        // a restart, too
        server_->forget_scripts();
        return std::make_shared<RedisLink>(time_, server_, seed);
    }

private:
    testing::VirtualTime& time_;
    std::shared_ptr<ShareServer> server_;
};

} // namespace

std::unique_ptr<SharedStore> make_shared_store(testing::VirtualTime& time, PlaceBook& book)
{
    return std::make_unique<RedisStore>(time, book);
}

SmallLayer const small_layer{"redis_shares", run_share_world};

} // namespace tenure::simulation
