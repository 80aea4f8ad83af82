// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/stream.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

/** A stream whose other end is the test: it accepts or refuses, sees what was written and says what is read. */
class FakeStream final : public redis::Stream, public std::enable_shared_from_this<FakeStream>
{
public:
    explicit FakeStream(std::shared_ptr<Runtime> runtime)
        : runtime_(std::move(runtime))
    {
    }

    // -- Stream --
    void connect(redis::StreamEvents& events, Instant) override
    {
        events_ = &events;
        connecting = true;
    }
    void read() override
    {
        reading_ = true;
        offer();
    }
    std::size_t write_now(std::string_view bytes) override
    {
        auto const taken = std::min(at_once, bytes.size());
        received += bytes.substr(0, taken);
        return taken;
    }
    void write(std::string bytes) override
    {
        ++writes;
        writing_ = true;
        output_ = std::move(bytes);
        if (!stalled)
            finish_write({}, output_.size());
    }
    void close() noexcept override
    {
        events_ = nullptr;
        connecting = false;
        closed = true;
    }

    // -- the other end --
    void accept(redis::StreamError error = {})
    {
        connecting = false;
        later([error](FakeStream& self) { self.events_->on_connected(error); });
    }

    /** Gives the reader bytes, as one read each. */
    void send(std::string bytes)
    {
        incoming_.push_back({{}, std::move(bytes)});
        offer();
    }

    /** Gives the reader each byte as a read of its own. */
    void send_bytewise(std::string_view bytes)
    {
        for (char const byte : bytes)
            send(std::string(1, byte));
    }

    void end(redis::StreamError error = {asio::error::eof, "the server closed the connection", false})
    {
        incoming_.push_back({std::move(error), {}});
        offer();
    }

    /** Ends the write under way; `written` of its bytes get through. */
    void finish_write(redis::StreamError error, std::size_t written)
    {
        received += output_.substr(0, written);
        later([error = std::move(error), written](FakeStream& self) {
            self.writing_ = false;
            self.events_->on_written(error, written, std::exchange(self.output_, {}));
        });
    }

    /** The bytes that arrived since the last call. */
    [[nodiscard]] std::string take_received() { return std::exchange(received, {}); }

    [[nodiscard]] bool reading() const noexcept { return reading_; }
    [[nodiscard]] bool writing() const noexcept { return writing_; }
    [[nodiscard]] std::size_t unfinished() const noexcept { return output_.size(); }

    bool connecting = false;
    bool closed = false;
    /// true: writes end only by `finish_write`
    bool stalled = false;
    /// how much of a write leaves without waiting
    std::size_t at_once = 0;
    std::string received;
    /// writes that had to wait for their end
    std::size_t writes = 0;

private:
    template <class Function>
    void later(Function function)
    {
        runtime_->post([self = shared_from_this(), function = std::move(function)] {
            if (self->events_ != nullptr)
                function(*self);
        });
    }

    void offer()
    {
        if (!reading_ || incoming_.empty())
            return;
        reading_ = false;
        later([](FakeStream& self) {
            // as a real stream: the bytes live until the next read
            self.current_ = std::move(self.incoming_.front());
            self.incoming_.pop_front();
            self.events_->on_read(self.current_.first, self.current_.second);
        });
    }

    std::shared_ptr<Runtime> runtime_;
    redis::StreamEvents* events_ = nullptr;
    bool reading_ = false;
    bool writing_ = false;
    std::string output_;
    std::deque<std::pair<redis::StreamError, std::string>> incoming_;
    std::pair<redis::StreamError, std::string> current_;
};

/** Makes fake streams and keeps them for the test. */
class FakeStreams
{
public:
    [[nodiscard]] redis::StreamFactory factory()
    {
        return [this](std::shared_ptr<Runtime> const& runtime, RedisConfig const&) {
            made_.push_back(std::make_shared<FakeStream>(runtime));
            return made_.back();
        };
    }
    [[nodiscard]] std::size_t count() const noexcept { return made_.size(); }
    [[nodiscard]] FakeStream& last() { return *made_.back(); }
    [[nodiscard]] FakeStream& operator[](std::size_t index) { return *made_.at(index); }

private:
    std::vector<std::shared_ptr<FakeStream>> made_;
};

} // namespace tenure::test
