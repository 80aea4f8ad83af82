// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A program that compiles Boost.JSON itself, in a configuration of its own, and is linked with all of tenure.
#define BOOST_JSON_STACK_BUFFER_SIZE 512
#include <boost/json/src.hpp>

#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdio>

int main()
{
    boost::asio::io_context context;
    auto const store = tenure::open_store(context.get_executor(), "memory://");
    auto const document = boost::json::parse(R"({"slots": [0, 1, 2]})");
    bool const right = document.at("slots").as_array().size() == 3 && !store.describe().empty();
    std::puts(right ? "a Boost.JSON of its own beside tenure's" : "wrong");
    return right ? 0 : 1;
}
