// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "raw/zookeeper_c_client.hpp"

#include "harness/stopwatch.hpp"

#include <zookeeper/zookeeper.h>

#include <poll.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench::raw
{

namespace
{

/// as long as what the library writes there
constexpr std::string_view value = "bench-host:12345/0123456789abcdef0123456789abcdef\nttl=10000\n";
constexpr int session_ms = 40'000;
constexpr int any_version = -1;

/** One session of the C client, driven as its manual says. */
class Session
{
public:
    explicit Session(std::uint16_t port)
    {
        ::zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
        auto const server = "127.0.0.1:" + std::to_string(port);
        handle_ = ::zookeeper_init(server.c_str(), nullptr, session_ms, nullptr, nullptr, 0);
        if (handle_ == nullptr)
            throw std::runtime_error("the C client of ZooKeeper makes no handle");
        // else it resolves the address anew in each turn
        ::zoo_set_servers_resolution_delay(handle_, -1);
        while (::zoo_state(handle_) != ZOO_CONNECTED_STATE)
            turn();
    }
    Session(Session const&) = delete;
    Session& operator=(Session const&) = delete;
    ~Session() { ::zookeeper_close(handle_); }

    void create(char const* path, int mode)
    {
        ask([&](void* self) {
            return ::zoo_acreate(handle_, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, &Session::on_created, self);
        });
    }

    /** The library's claim; the generation's version afterwards. */
    int claim(char const* path, char const* generation)
    {
        Stat generation_stat{};
        ask([&](void* self) {
            ::zoo_create_op_init(operations_.data(), path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, nullptr, 0);
            ::zoo_set_op_init(&operations_[1], path, value.data(), static_cast<int>(value.size()), 0, &node_);
            ::zoo_set_op_init(&operations_[2], generation, "", 0, any_version, &generation_stat);
            return ::zoo_amulti(handle_, 3, operations_.data(), results_.data(), &Session::on_done, self);
        });
        check(answer_);
        return generation_stat.version;
    }

    /** And its release. */
    void release(char const* path, char const* generation, int generation_version)
    {
        ask([&](void* self) {
            ::zoo_check_op_init(operations_.data(), generation, generation_version);
            ::zoo_delete_op_init(&operations_[1], path, 1);
            return ::zoo_amulti(handle_, 2, operations_.data(), results_.data(), &Session::on_done, self);
        });
        check(answer_);
    }

private:
    static void check(int code)
    {
        if (code != ZOK)
            throw std::runtime_error("a request of the C client did not succeed: code " + std::to_string(code));
    }
    static void on_done(int code, void const* self)
    {
        auto& session = *static_cast<Session*>(const_cast<void*>(self));
        session.answer_ = code;
        session.answered_ = true;
    }
    static void on_created(int code, char const*, void const* self) { on_done(code, self); }

    template <class Question>
    void ask(Question question)
    {
        answered_ = false;
        check(question(this));
        while (!answered_)
            turn();
    }

    void turn()
    {
        int descriptor = -1;
        int events = 0;
        timeval limit{};
        check(::zookeeper_interest(handle_, &descriptor, &events, &limit));
        pollfd waited{descriptor, 0, 0};
        waited.events = static_cast<short>(
            ((events & ZOOKEEPER_READ) != 0 ? POLLIN : 0) | ((events & ZOOKEEPER_WRITE) != 0 ? POLLOUT : 0));
        ::poll(&waited, 1, static_cast<int>(limit.tv_sec * 1000 + limit.tv_usec / 1000));
        int const ready = ((waited.revents & ~POLLOUT) != 0 ? ZOOKEEPER_READ : 0) |
                          ((waited.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0);
        if (int const code = ::zookeeper_process(handle_, ready); code != ZNOTHING)
            check(code);
    }

    zhandle_t* handle_ = nullptr;
    std::array<zoo_op_t, 3> operations_{};
    std::array<zoo_op_result_t, 3> results_{};
    Stat node_{};
    bool answered_ = false;
    int answer_ = ZOK;
};

} // namespace

Measurement zookeeper_c_client_latency(std::uint16_t port, unsigned pairs)
{
    Session session(port);
    session.create("/raw", ZOO_PERSISTENT);
    constexpr char const* path = "/raw/2";
    constexpr char const* generation = "/raw/generation of the C client";
    session.create(generation, ZOO_EPHEMERAL);
    std::vector<double> times;
    auto const warm_up = pairs / 10;
    for (unsigned i = 0; i < warm_up + pairs; ++i) {
        auto const begin = Steady::now();
        session.release(path, generation, session.claim(path, generation));
        if (i >= warm_up)
            times.push_back(microseconds_since(begin));
    }
    return {median(std::move(times))};
}

} // namespace bench::raw
