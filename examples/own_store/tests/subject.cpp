// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// All that the conformance suite needs to know of this store.
#include "scratch_directory.hpp"

#include <tenure/conformance/subject.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace
{

using namespace own_store;

class FileSubject final : public tenure::conformance::Subject
{
public:
    std::shared_ptr<tenure::Backend> connect(std::shared_ptr<tenure::backend::Runtime> runtime) override
    {
        return make_file_backend(std::move(runtime), directory_.path());
    }
    void overwrite(std::string const& key, std::string const& value, std::chrono::milliseconds ttl) override
    {
        Record record;
        record.owner = value;
        record.expire_after(ttl, tenure::Clock::now());
        directory_.write(key, to_text(record));
    }
    void erase(std::string const& key) override { std::filesystem::remove(directory_.file_of(key)); }
    std::optional<std::string> value(std::string const& key) override
    {
        auto const now = tenure::Clock::now();
        bool is_of_other_boot = false;
        auto const record = read_record(directory_.read(key), now, is_of_other_boot);
        return record.owner.empty() || record.is_free(now) ? std::nullopt : std::optional(record.owner);
    }

private:
    test::ScratchDirectory directory_;
};

} // namespace

std::unique_ptr<tenure::conformance::Subject> tenure::conformance::make_subject()
{
    return std::make_unique<FileSubject>();
}
