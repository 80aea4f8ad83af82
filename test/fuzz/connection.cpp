// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A connection as a state machine, under a server and a clock that do anything: each byte of the input is an event, and
// the server's bytes follow in the input. For all inputs: each request ends once, in a possible order, and nothing
// is sent before the login is over.
#include "store/redis/link/connection_machine.hpp"

#include "demand.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace
{

namespace redis = tenure::redis;
using tenure::fuzz::demand;
using namespace std::chrono_literals;

class World
{
public:
    explicit World(std::string_view input)
        : input_(input)
    {
    }

    void play()
    {
        while (!input_.empty()) {
            event(static_cast<unsigned char>(take(1).front()));
            settle();
        }
        machine_.close();
        settle();
        for (auto const calls : called_)
            demand(calls == 1);
    }

private:
    std::string_view take(std::size_t size)
    {
        auto const part = input_.substr(0, size);
        input_.remove_prefix(part.size());
        return part;
    }

    void event(unsigned char kind)
    {
        switch (kind % 10) {
        case 0:
            machine_.open(now_);
            break;
        case 1:
        case 2:
            ask(kind);
            break;
        case 3:
            if (!std::exchange(connecting_, false))
                break;
            streaming_ = kind % 3 == 0;
            machine_.connected(streaming_ ? redis::StreamError{} : failure(), now_);
            break;
        case 4:
        case 5:
        case 6: {
            // an exact copy, gone after it was used up
            std::size_t const size = input_.empty() ? 0U : static_cast<unsigned char>(take(1).front());
            std::string const bytes(take(size));
            if (streaming_)
                machine_.received(bytes);
            settle();
            break;
        }
        case 7:
            now_ += std::chrono::milliseconds{kind * 4};
            machine_.timeout(now_);
            break;
        case 8:
            if (!streaming_)
                break;
            if (kind % 3 == 0)
                machine_.lost(failure(), now_);
            else
                machine_.written(kind % 3 == 1 ? redis::StreamError{} : failure(), kind, now_);
            break;
        default:
            machine_.invalidate("something", now_);
        }
    }

    static redis::StreamError failure()
    {
        redis::StreamError error;
        error.code = make_error_code(tenure::errc::store_unavailable);
        return error;
    }

    void ask(unsigned char kind)
    {
        auto const number = called_.size();
        called_.push_back(0);
        auto command = kind % 4 == 1 ? redis::resp::Command("SUBSCRIBE", "c") : redis::resp::Command("GET", "k");
        machine_.open(now_);
        machine_.execute(
            std::move(command), now_ + std::chrono::milliseconds{kind * 8},
            [this, number](redis::Outcome const& outcome) {
                ++called_[number];
                // an answered request was written, and the answers came in the order of the requests
                if (outcome.delivery == redis::Delivery::answered) {
                    demand(number >= answered_);
                    answered_ = number;
                }
                if (outcome.delivery == redis::Delivery::unknown)
                    demand(bool(outcome.error));
            });
    }

    void settle()
    {
        redis::Action action;
        while (machine_.next(action, now_)) {
            if (auto* const done = std::get_if<redis::Complete>(&action))
                std::move(done->handler)(std::move(done->outcome));
            if (std::holds_alternative<redis::ConnectStream>(action))
                connecting_ = true;
            if (std::holds_alternative<redis::DropStream>(action))
                connecting_ = streaming_ = false;
            if (auto const* const told = std::get_if<redis::TellState>(&action))
                logged_in_ = told->state == redis::ConnectionState::ready;
        }
        std::string out;
        if (machine_.has_output())
            machine_.take_output(out, now_);
        // nothing but the login leaves before the login is over
        if (!logged_in_)
            demand(out.find("GET") == std::string::npos && out.find("SUBSCRIBE") == std::string::npos);
    }

    std::string_view input_;
    std::vector<int> called_;
    std::size_t answered_ = 0;
    /// the state of the driver of the machine
    bool connecting_ = false;
    bool streaming_ = false;
    bool logged_in_ = false;
    tenure::Instant now_{1h};
    std::uint64_t random_ = 0;
    redis::ConnectionMachine machine_{tenure::RedisConfig{}, redis::ConnectionOptions{"fuzzed", 4096}, [this] {
                                          return random_ += 0x9e3779b97f4a7c15U;
                                      }};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    World world({reinterpret_cast<char const*>(data), size});
    world.play();
    return 0;
}
