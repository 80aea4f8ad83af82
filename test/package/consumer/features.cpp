// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The headers say what this build of tenure has: each store and TLS opens or is refused accordingly. Exceptions and
// errors that cross the border of the library are recognised on this side of it.
#include <tenure/tenure.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#if TENURE_VERSION < 100 ||                                                                                            \
    TENURE_VERSION != TENURE_VERSION_MAJOR * 10000 + TENURE_VERSION_MINOR * 100 + TENURE_VERSION_PATCH
#error "the version macros disagree"
#endif

namespace
{

using namespace std::chrono_literals;

void require(bool holds, std::string const& what)
{
    if (!holds)
        throw std::runtime_error(what);
}

/** A store that was left out is refused by a message that names the CMake option. */
void expect_feature(boost::asio::io_context& context, char const* url, bool is_in, std::string_view option)
{
    std::string refusal;
    try {
        (void)tenure::open_store(context.get_executor(), url);
    } catch (std::invalid_argument const& failure) {
        refusal = failure.what();
    }
    std::cout << (refusal.empty() ? std::string(url) + " opens" : refusal) << "\n";
    require(refusal.empty() == is_in, std::string(url) + ": tenure/features.hpp is wrong");
    require(is_in || refusal.find(option) != std::string::npos, std::string(url) + ": the message names no option");
}

void expect_errors(boost::asio::io_context& context)
{
    tenure::Lock const lock{tenure::open_store(context.get_executor(), "memory://"), {.key = "errors"}};
    tenure::Lease held;
    lock.async_acquire([&held](tenure::error_code, tenure::Lease granted) { held = std::move(granted); });
    tenure::error_code late;
    lock.async_acquire(10ms, [&late](tenure::error_code error, tenure::Lease) { late = error; });
    boost::asio::cancellation_signal cancel;
    tenure::error_code cancelled;
    lock.async_acquire(boost::asio::bind_cancellation_slot(
        cancel.slot(), [&cancelled](tenure::error_code error, tenure::Lease) { cancelled = error; }));
    context.run_for(200ms);
    cancel.emit(boost::asio::cancellation_type::terminal);
    context.run_for(200ms);
    require(held.valid(), "the lock is not held");
    require(late == tenure::errc::timed_out, "the wait ended with " + late.message());
    require(late.category() == tenure::tenure_category(), "the category is another one");
    require(cancelled == boost::asio::error::operation_aborted, "the cancelled wait ended with " + cancelled.message());
    try {
        (void)tenure::Slot().id();
        require(false, "an empty slot has a number");
    } catch (std::logic_error const& failure) {
        std::cout << "an empty slot: " << failure.what() << "\n";
    }
    require(tenure::version() == TENURE_VERSION_STRING, "library and headers are of different versions");
}

} // namespace

int main()
{
    try {
        boost::asio::io_context context;
        expect_feature(context, "etcd://127.0.0.1:1", TENURE_HAS_ETCD, "TENURE_ETCD=ON");
        expect_feature(context, "file:", TENURE_HAS_FILE, "TENURE_FILE=ON");
        expect_feature(context, "postgresql://127.0.0.1:1", TENURE_HAS_POSTGRESQL, "TENURE_POSTGRESQL=ON");
        expect_feature(context, "rediss://127.0.0.1:1", TENURE_HAS_TLS, "TENURE_TLS=ON");
        expect_feature(context, "zookeeper://127.0.0.1:1", TENURE_HAS_ZOOKEEPER, "TENURE_ZOOKEEPER=ON");
        expect_errors(context);
        return EXIT_SUCCESS;
    } catch (std::exception const& failure) {
        std::cerr << "features: " << failure.what() << "\n";
        return EXIT_FAILURE;
    }
}
