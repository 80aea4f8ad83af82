// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The store in a directory. The changes by another program use the functions that read and write the files.
#include "harness/scratch_directory.hpp"
#include "store/file/backend.hpp"
#include "store/file/session.hpp"

#include <tenure/conformance/subject.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace tenure::test
{

namespace
{

class FileSubject final : public conformance::Subject
{
public:
    ~FileSubject() override { session_->close(); }

    std::shared_ptr<Backend> connect(std::shared_ptr<Runtime> runtime) override
    {
        return file::make_backend(std::move(runtime), {directory_.path()});
    }
    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        write(key, value, session_->now() + std::chrono::nanoseconds(ttl).count());
    }
    void erase(std::string const& key) override { write(key, "", 0); }
    std::optional<std::string> value(std::string const& key) override
    {
        auto const place = file::place_of(*named_key(key), 0);
        auto const range = session_->find(place.stem);
        if (range == nullptr)
            return std::nullopt;
        file::Look look(*session_);
        auto const pair = range->read(place.slot);
        auto const& record = file::current(pair);
        return look.at(record).taken ? std::optional(std::string(record.value())) : std::nullopt;
    }

private:
    void write(std::string const& key, std::string const& value, BootTime until)
    {
        auto const place = file::place_of(*named_key(key), 0);
        auto const locked = session_->lock(place.stem, place.area());
        auto const pair = locked->read(place.slot);
        file::Record record;
        record.token = file::current(pair).token;
        record.until = until;
        record.set_value(value);
        locked->write(place.slot, pair, record);
    }

    ScratchDirectory directory_{ScratchDirectory::Place::memory};
    asio::io_context context_;
    std::shared_ptr<Runtime> runtime_ = make_runtime(context_.get_executor());
    file::SessionPtr session_ = std::make_shared<file::Session>(FileConfig{directory_.path()}, runtime_);
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    return std::make_unique<test::FileSubject>();
}
