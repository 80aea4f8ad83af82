// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that holds many locks with long names until it is killed.
//   many_holder URL COUNT NAME_LENGTH TTL_MS
// It prints `held`, or the error of the first acquisition that failed, and then `lost` as soon as a lease is lost.
#include "harness/program.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace
{

namespace asio = boost::asio;

void say(std::string const& words)
{
    std::printf("%s\n", words.c_str());
    std::fflush(stdout);
}

[[nodiscard]] std::string name(std::size_t number, std::size_t length)
{
    auto text = "many" + std::to_string(number) + ":";
    text.resize(std::max(length, text.size()), 'x');
    return text;
}

void run(char** argument)
{
    auto const count = std::stoul(argument[2]);
    auto const length = std::stoul(argument[3]);
    std::chrono::milliseconds const ttl{std::stoll(argument[4])};
    asio::io_context context{1};
    auto const store = tenure::open_store(context.get_executor(), argument[1], {.log = tenure::silent_log_sink()});
    std::vector<tenure::Lease> held;
    for (std::size_t i = 0; i < count; ++i) {
        tenure::Lock const lock{store, {.key = name(i, length), .ttl = ttl}};
        lock.async_acquire(std::chrono::minutes{1}, [&](tenure::error_code error, tenure::Lease lease) {
            if (error) {
                say(error.message() + ": " + store.diagnostics().last_detail);
                return;
            }
            lease.token().async_wait([token = lease.token()](tenure::error_code) {
                if (tenure::is_loss(token.reason()))
                    say("lost");
            });
            held.push_back(std::move(lease));
            if (held.size() == count)
                say("held");
        });
    }
    context.run();
}

} // namespace

int main(int count, char** argument)
{
    return tenure::test::run_program("many_holder URL COUNT NAME_LENGTH TTL_MS", count, argument, run);
}
