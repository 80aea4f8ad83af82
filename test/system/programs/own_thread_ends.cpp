// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Ends while a store has a thread of its own, as its second argument says; the first is the store's URL, the third a
// key.
#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace
{

using namespace std::chrono_literals;
namespace asio = boost::asio;

tenure::StoreOptions own_thread()
{
    tenure::StoreOptions options;
    options.own_thread = true;
    return options;
}

struct Holder {
    asio::io_context context;
    std::optional<tenure::Store> store;
    std::optional<tenure::Lock> lock;
    std::optional<tenure::Lease> lease;
    std::atomic<int> answers = 0;

    Holder(std::string const& url, std::string const& key)
        : store(tenure::open_store(context, url, own_thread()))
        , lock(std::in_place, *store, tenure::LockConfig{key, 20s, {}})
    {
        auto acquired = lock->async_acquire(asio::use_future);
        context.run();
        lease = acquired.get();
        context.restart();
    }

    /** Operations without an end, which wait for the lease, and others one after the other. */
    void ask()
    {
        lock->async_acquire(tenure::forever, [](tenure::error_code, tenure::Lease const&) {});
        lease->token().async_wait([](tenure::error_code) {});
        ask_again();
    }
    void ask_again()
    {
        store->async_inspect(lock->range(), [this](tenure::error_code, auto const&) {
            ++answers;
            answers.notify_all();
            ask_again();
        });
    }
};

std::unique_ptr<Holder>& global()
{
    static std::unique_ptr<Holder> holder;
    return holder;
}

} // namespace

int main(int, char* argument[])
{
    std::string const url = argument[1];
    std::string const how = argument[2];
    std::string const key = argument[3];
    if (how == "let-go") {
        // all is gone in its order before main ends
        Holder const holder(url, key);
        return holder.lease->valid() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (how == "static-before")
        // made before the first thread of a store was, and so destroyed after what the library does at the end
        global();
    auto made = std::make_unique<Holder>(url, key);
    made->ask();
    if (how.starts_with("static")) {
        global() = std::move(made);
        return EXIT_SUCCESS;
    }
    // never destroyed
    auto* const holder = made.release();
    if (how == "exit-elsewhere") {
        std::thread([holder] {
            holder->answers.wait(0);
            std::exit(EXIT_SUCCESS);
        }).detach();
        holder->context.run();
    } else if (how == "runs-on") {
        // beyond the end of main
        std::thread([holder] { holder->context.run(); }).detach();
        holder->answers.wait(0);
    }
    return EXIT_SUCCESS;
}
