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
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace tenure::test
{

namespace
{

template <class Value>
Value must(std::variant<Value, Failure> result)
{
    if (auto const* const failure = std::get_if<Failure>(&result))
        throw std::runtime_error(failure->detail);
    return std::get<Value>(std::move(result));
}

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
        auto const range = must(session_->ranges().find(place.stem));
        std::vector<file::RecordPair> pairs;
        auto const now = session_->now();
        session_->others().begin(false);
        if (range == nullptr || !range->read(place.slot, 1, pairs))
            return std::nullopt;
        auto const& record = file::current(pairs[0]);
        return session_->look(record, now).taken ? std::optional(std::string(record.value())) : std::nullopt;
    }

private:
    void write(std::string const& key, std::string const& value, file::BootTime until)
    {
        auto const place = file::place_of(*named_key(key), 0);
        auto const range = must(session_->ranges().find_or_make(place.stem, *runtime_));
        auto const area = file::records(place.slot, 1);
        if (!range->file().try_lock(area))
            throw std::runtime_error("the record is locked");
        file::LockedArea const locked(range, area);
        std::vector<file::RecordPair> pairs;
        static_cast<void>(range->read(place.slot, 1, pairs));
        file::Record record;
        record.token = file::current(pairs[0]).token;
        record.until = until;
        record.set_value(value);
        if (!range->write(place.slot, pairs[0], record))
            throw std::runtime_error("the record cannot be written");
    }

    ScratchDirectory directory_{ScratchDirectory::Place::memory};
    asio::io_context context_;
    std::shared_ptr<Runtime> runtime_ = make_runtime(context_);
    file::SessionPtr session_ = must(file::Session::open({directory_.path()}, runtime_));
};

} // namespace

} // namespace tenure::test

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    return std::make_unique<test::FileSubject>();
}
