// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A slow Redis server: its connections, its pace, and what it answers.
#include "server.hpp"

#include <store/redis/scripts/scripts.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

namespace tenure::simulation
{

namespace
{

constexpr std::string_view hello_reply =
    "%3\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$4\r\nrole\r\n$6\r\nmaster\r\n";

std::string bulk(std::string const& text)
{
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

} // namespace

/** Both ends of one connection. */
class SlowServer::Connection final : public redis::Stream, public std::enable_shared_from_this<Connection>
{
public:
    explicit Connection(std::shared_ptr<SlowServer> server)
        : server_(std::move(server))
    {
    }

    // -- for the client --
    void connect(redis::StreamEvents& events, Instant) override
    {
        events_ = &events;
        later(2 * delay(), [](Connection& self) { self.events_->on_connected({}); });
    }
    void read() override
    {
        reading_ = true;
        notify_bytes();
    }
    std::size_t write_now(std::string_view bytes) override
    {
        auto const taken = std::min(bytes.size(), room());
        send(bytes.substr(0, taken));
        return taken;
    }
    void write(std::string bytes) override
    {
        rest_ = std::move(bytes);
        rest_at_ = 0;
        send_rest();
    }
    void close() noexcept override { events_ = nullptr; }

    // -- for the server --
    [[nodiscard]] bool is_open() const noexcept { return events_ != nullptr; }
    void arrived(std::string_view bytes) { input_ += bytes; }
    /** The next command, if all of it is there. Makes room for what the client wants to write. */
    [[nodiscard]] std::optional<Words> next_command();
    void reply(std::string bytes)
    {
        later(delay(), [bytes = std::move(bytes)](Connection& self) {
            self.output_ += bytes;
            self.notify_bytes();
        });
    }

    bool in_transaction = false;
    bool logged_in = false;
    /// of a transaction
    std::vector<Words> queued;
    /// it is in `waiting_`
    bool waits = false;

    /** The command of `input_` at `at`, which is then its end. Unset: it is incomplete. */
    [[nodiscard]] std::optional<Words> parse(std::size_t& at) const;

private:
    [[nodiscard]] Clock::duration delay() const noexcept { return server_->settings_.delay; }
    [[nodiscard]] std::size_t room() const noexcept
    {
        auto const buffer = server_->settings_.buffer;
        return buffer > unread_ ? buffer - unread_ : 0;
    }

    template <class Function>
    void later(Clock::duration when, Function function)
    {
        auto& runtime = *server_->runtime_;
        runtime.call_at(runtime.now() + when, [self = shared_from_this(), function = std::move(function)]() mutable {
            if (self->events_ != nullptr)
                function(*self);
        });
    }
    void send(std::string_view bytes)
    {
        if (bytes.empty())
            return;
        unread_ += bytes.size();
        later(delay(), [bytes = std::string(bytes)](Connection& self) {
            self.arrived(bytes);
            self.server_->received(self.shared_from_this());
        });
    }
    void send_rest()
    {
        if (rest_at_ == rest_.size())
            return;
        auto const taken = std::min(rest_.size() - rest_at_, room());
        send(std::string_view(rest_).substr(rest_at_, taken));
        rest_at_ += taken;
        if (rest_at_ == rest_.size())
            later(Clock::duration::zero(), [](Connection& self) {
                auto const size = std::exchange(self.rest_at_, 0);
                self.events_->on_written({}, size, std::exchange(self.rest_, {}));
            });
    }
    void notify_bytes()
    {
        if (!reading_ || output_.empty())
            return;
        reading_ = false;
        later(Clock::duration::zero(), [](Connection& self) {
            self.current_ = std::exchange(self.output_, {});
            self.events_->on_read({}, self.current_);
        });
    }

    std::shared_ptr<SlowServer> server_;
    /// null: closed
    redis::StreamEvents* events_ = nullptr;
    bool reading_ = false;
    /// the bytes that arrived and were not executed
    std::string input_;
    /// bytes on their way to the server and in `input_`, but for those of a command that is incomplete
    std::size_t unread_ = 0;
    /// the first bytes of `input_`, which the server has read because their command is incomplete
    std::size_t read_ahead_ = 0;
    /// of a write, and how much of it was taken
    std::string rest_;
    std::size_t rest_at_ = 0;
    std::string output_;
    std::string current_;
};

std::optional<SlowServer::Words> SlowServer::Connection::next_command()
{
    std::size_t end = 0;
    auto words = parse(end);
    // an incomplete command is read, however small the buffer is
    auto const read = words ? end : input_.size();
    unread_ -= read - std::min(read, read_ahead_);
    if (words) {
        input_.erase(0, end);
        read_ahead_ -= std::min(end, read_ahead_);
    } else {
        read_ahead_ = input_.size();
    }
    send_rest();
    return words;
}

std::optional<SlowServer::Words> SlowServer::Connection::parse(std::size_t& at) const
{
    auto const number = [&](char kind) -> std::optional<std::size_t> {
        auto const end = input_.find("\r\n", at);
        if (at >= input_.size() || end == std::string::npos || input_[at] != kind)
            return std::nullopt;
        auto const value = std::stoul(input_.substr(at + 1, end - at - 1));
        at = end + 2;
        return value;
    };
    auto const count = number('*');
    if (!count)
        return std::nullopt;
    Words words;
    for (std::size_t i = 0; i < *count; ++i) {
        auto const size = number('$');
        if (!size || at + *size + 2 > input_.size())
            return std::nullopt;
        words.push_back(input_.substr(at, *size));
        at += *size + 2;
    }
    return words;
}

SlowServer::SlowServer(std::shared_ptr<Runtime> runtime, Settings const& settings)
    : runtime_(std::move(runtime))
    , settings_(settings)
{
}

std::shared_ptr<redis::Stream> SlowServer::connect()
{
    return std::make_shared<Connection>(shared_from_this());
}

void SlowServer::received(std::shared_ptr<Connection> const& connection)
{
    if (!std::exchange(connection->waits, true))
        waiting_.push_back(connection);
    if (!std::exchange(busy_, true))
        serve();
}

void SlowServer::serve()
{
    while (!waiting_.empty()) {
        auto const connection = waiting_.front();
        waiting_.pop_front();
        connection->waits = false;
        auto words = connection->is_open() ? connection->next_command() : std::nullopt;
        if (!words)
            continue;
        auto const takes = std::chrono::nanoseconds(std::chrono::seconds(1)) / settings_.rate;
        runtime_->call_at(runtime_->now() + takes, [self = shared_from_this(), connection, words = std::move(*words)] {
            ++self->seen_.commands;
            connection->reply(self->execute(*connection, words));
            // the next command of the connection comes behind those of others
            if (!std::exchange(connection->waits, true))
                self->waiting_.push_back(connection);
            self->serve();
        });
        return;
    }
    busy_ = false;
}

std::string SlowServer::execute(Connection& connection, Words const& words)
{
    auto const& name = words.front();
    if (name == "HELLO") {
        ++seen_.connections;
        return std::string(hello_reply);
    }
    if (name == "MULTI") {
        connection.in_transaction = true;
        return "+OK\r\n";
    }
    if (name == "EXEC") {
        connection.in_transaction = false;
        std::string all = "*" + std::to_string(connection.queued.size()) + "\r\n";
        for (auto const& one : std::exchange(connection.queued, {}))
            all += run(one);
        return all;
    }
    if (connection.in_transaction) {
        connection.queued.push_back(words);
        return "+QUEUED\r\n";
    }
    if (is_renewal(words))
        look_for_repetition(connection, words);
    return run(words);
}

bool SlowServer::is_renewal(Words const& words)
{
    auto const& script = redis::scripts::renew();
    return words.size() > 2 && (words[1] == script.sha || words[1] == script.text);
}

void SlowServer::look_for_repetition(Connection const& connection, Words const& renewal)
{
    auto const keys_of = [](Words const& words) {
        auto const first = words.begin() + 3;
        return std::set<std::string>(first, first + std::stol(words.at(2)));
    };
    auto const now_renewed = keys_of(renewal);
    for (std::size_t at = 0; auto const waiting = connection.parse(at);)
        if (is_renewal(*waiting))
            for (auto const& key : keys_of(*waiting))
                seen_.renewals_repeated += now_renewed.contains(key) ? 1U : 0U;
}

std::string SlowServer::run(Words const& words)
{
    if (words.front() == "SET")
        return set(words);
    if (words.front() == "EVALSHA" || words.front() == "EVAL")
        return call_script(words);
    return "-ERR unknown command '" + words.front() + "'\r\n";
}

SlowServer::Entry* SlowServer::held(std::string const& key)
{
    auto const found = keys_.find(key);
    if (found == keys_.end())
        return nullptr;
    if (found->second.expires <= runtime_->now()) {
        keys_.erase(found);
        return nullptr;
    }
    return &found->second;
}

std::string SlowServer::set(Words const& words)
{
    auto const& [key, owner] = std::pair(words.at(1), words.at(2));
    seen_.claims_repeated += ++claims_of_[owner] > 1 ? 1U : 0U;
    if (held(key) != nullptr)
        return "_\r\n";
    auto const ttl = std::chrono::milliseconds(std::stol(words.back()));
    keys_[key] = {owner, runtime_->now() + ttl};
    return "+OK\r\n";
}

std::string SlowServer::call_script(Words const& words)
{
    auto const is = [&](redis::Script const& script) {
        return words.at(1) == script.sha || words.at(1) == script.text;
    };
    if (is(redis::scripts::draw()))
        return bulk(std::to_string(++token_));
    if (is_renewal(words))
        return renew(words);
    auto const keys = std::stoul(words.at(2));
    if (is(redis::scripts::release().everywhere))
        return bulk(release(words.at(2 + keys), words.at(3 + keys)) ? "1" : "0");
    if (is(redis::scripts::release_each().everywhere))
        return release_each(words);
    if (is(redis::scripts::withdraw().everywhere)) {
        auto const mine =
            std::erase_if(keys_, [&](auto const& entry) { return entry.second.owner == words.at(3 + keys); });
        return bulk(std::to_string(mine));
    }
    // the login's script, which does nothing
    if (words.size() == 3)
        return ":1\r\n";
    // a claim that searches for its owner first
    ++seen_.claims_repeated;
    auto const now = runtime_->now();
    auto const& [key, owner] = std::pair(words.at(2 + keys), words.at(3 + keys));
    auto* const entry = held(key);
    if (entry != nullptr && entry->owner != owner)
        return "*3\r\n:-1\r\n:1000\r\n:0\r\n";
    keys_[key] = {owner, now + std::chrono::milliseconds(std::stol(words.at(4 + keys)))};
    return "*2\r\n:0\r\n" + bulk(std::to_string(++token_));
}

std::string SlowServer::renew(Words const& words)
{
    auto const count = std::stoul(words.at(2));
    auto const now = runtime_->now();
    auto const ttl = std::chrono::milliseconds(std::stol(words.at(3 + count)));
    std::string flags;
    for (std::size_t i = 0; i < count; ++i) {
        auto* const entry = held(words.at(3 + i));
        bool const is_owner = entry != nullptr && entry->owner == words.at(4 + count + i);
        flags += is_owner ? '1' : '0';
        if (!is_owner)
            continue;
        entry->expires = now + ttl;
    }
    return bulk(flags);
}

bool SlowServer::release(std::string const& key, std::string const& owner)
{
    auto* const entry = held(key);
    bool const is_owner = entry != nullptr && entry->owner == owner;
    if (is_owner)
        keys_.erase(key);
    return is_owner;
}

std::string SlowServer::release_each(Words const& words)
{
    auto const keys = std::stoul(words.at(2));
    auto const values = words.size() - 3 - keys;
    auto const ranges = keys + 1 - values;
    std::string flags;
    for (std::size_t i = 2 * ranges; i < keys; ++i)
        flags += release(words.at(3 + i), words.at(4 + keys + i - 2 * ranges)) ? '1' : '0';
    return bulk(flags);
}

} // namespace tenure::simulation
