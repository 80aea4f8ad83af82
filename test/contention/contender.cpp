// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One contender for a key that another program also takes, until it is stopped.
//   contender URL KEY KIND MARKS NAME MUTANT     KIND: fair, reader, writer, permit, plain, unfenced, late
//   contender hold MARKS NAME MILLISECONDS       the command that the lock program of another project runs
// It writes the file of marks that marks.hpp describes.
#include "mutants/mutants.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <random>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace
{

using namespace std::chrono_literals;
namespace asio = boost::asio;

class Marks
{
public:
    Marks(char const* path, std::string name, bool shares)
        : file_(::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644))
        , name_(std::move(name))
        , shares_(shares)
    {
        if (file_ < 0)
            throw std::runtime_error("no file of marks");
    }
    Marks(Marks const&) = delete;
    Marks& operator=(Marks const&) = delete;
    ~Marks() { ::close(file_); }

    /** @param token  0: none, or of no consequence */
    void hold(std::chrono::milliseconds time, std::uint64_t token = 0) const
    {
        write("in", token);
        std::this_thread::sleep_for(time);
        write("out", token);
    }

private:
    void write(char const* what, std::uint64_t token) const
    {
        timespec now{};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        auto const line = name_ + ' ' + what + ' ' +
                          std::to_string(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec) +
                          (shares_ ? " 1 " : " 0 ") + std::to_string(token) + "\n";
        if (::write(file_, line.data(), line.size()) != static_cast<::ssize_t>(line.size()))
            throw std::runtime_error("a mark was not written");
    }

    int file_;
    std::string name_;
    bool shares_;
};

using Acquire = std::function<tenure::Lease()>;

constexpr auto ttl = 5s;
/// of the kind "late"
constexpr auto short_ttl = 2s;

Acquire acquire_from(tenure::Store const& store, std::string const& key, std::string_view kind)
{
    auto const with = [](auto lock) {
        return [lock = std::move(lock)] { return lock.async_acquire({.wait = 30s}, asio::use_future).get(); };
    };
    if (kind == "fair")
        return with(tenure::Lock(store, {.key = key, .ttl = ttl, .fair = true}));
    if (kind == "reader" || kind == "writer") {
        tenure::ReadWriteLock const both(store, {.key = key, .ttl = ttl});
        return with(kind == "reader" ? both.read_lock() : both.write_lock());
    }
    if (kind == "permit")
        return with(tenure::Semaphore(store, {.key = key, .permits = 1, .ttl = ttl}));
    if (kind == "plain" || kind == "unfenced")
        return with(tenure::Lock(store, {.key = key, .ttl = ttl, .lease = {.fencing = kind == "plain"}}));
    if (kind == "late")
        return with(tenure::Lock(
            store, {.key = key, .ttl = short_ttl, .lease = {.renewal = tenure::Renewal::manual, .fencing = false}}));
    throw std::runtime_error("unknown kind " + std::string(kind));
}

/** The others of this store, and those that begin anew, are no slower. Half of the pauses end for all contenders at the
 *  same instant, when they often find the key free. */
void pause(std::minstd_rand& random)
{
    using Beat = std::chrono::duration<std::int64_t, std::ratio<32, 1000>>;
    if (random() % 2 == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds{random() % 3});
    else
        std::this_thread::sleep_until(std::chrono::ceil<Beat>(std::chrono::steady_clock::now()));
}

/** A context that runs on a thread of its own. A failure stops it, whatever is under way. */
struct Loop {
    Loop() = default;
    Loop(Loop const&) = delete;
    Loop& operator=(Loop const&) = delete;
    ~Loop() { context.stop(); }

    asio::io_context context;
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
    /// joined first
    std::jthread thread{[this] { context.run(); }};
};

void contend(char** argument)
{
    if (!tenure::mutants::activate(argument[6]))
        throw std::runtime_error("no such planted bug");
    Loop loop;
    auto const store = tenure::open_store(loop.context.get_executor(), argument[1]);
    std::string_view const kind = argument[3];
    auto const acquire = acquire_from(store, argument[2], kind);
    Marks const marks(argument[4], argument[5], kind == "reader");
    std::minstd_rand random{std::random_device{}()};
    for (;;) {
        auto lease = acquire();
        marks.hold(std::chrono::milliseconds{1 + random() % 5}, kind == "plain" ? lease.fencing_token() : 0);
        // its release finds the key of another holder
        if (kind == "late" && random() % 64 == 0)
            std::this_thread::sleep_for(short_ttl + 400ms);
        (void)lease.async_release(asio::use_future).get();
        pause(random);
    }
}

} // namespace

int main(int count, char** argument)
try {
    if (count == 5 && argument[1] == std::string_view{"hold"})
        Marks(argument[2], argument[3], false).hold(std::chrono::milliseconds{std::stoi(argument[4])});
    else if (count == 7)
        contend(argument);
    else
        throw std::runtime_error("see the begin of contender.cpp");
    return 0;
} catch (std::exception const& error) {
    std::fprintf(stderr, "contender: %s\n", error.what());
    return 1;
}
