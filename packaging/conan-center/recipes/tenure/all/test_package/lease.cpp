// Takes the first of two slots, in the store inside the process.
#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>

#include <iostream>

int main()
{
    boost::asio::io_context context;
    tenure::SlotPool const pool{
        tenure::open_store(context.get_executor(), "memory://"), {.prefix = "test:", .size = 2}};
    bool first = false;
    pool.async_acquire(
        [&first](tenure::error_code error, tenure::Slot slot) { first = !error && slot.valid() && slot.id() == 0; });
    context.run();
    std::cout << "tenure " << tenure::version() << (first ? ": slot 0\n" : ": no slot\n");
    return first && tenure::version() == TENURE_VERSION_STRING ? 0 : 1;
}
