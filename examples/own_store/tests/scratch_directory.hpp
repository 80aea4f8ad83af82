// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "file_backend.hpp"
#include "record.hpp"

#include <tenure/conformance/client.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace own_store::test
{

/** An empty directory that goes with this object, and what a person does in it without the store. */
class ScratchDirectory
{
public:
    ScratchDirectory()
    {
        auto name = (std::filesystem::temp_directory_path() / "own_store-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("cannot make " + name);
        path_ = name;
    }
    ScratchDirectory(ScratchDirectory const&) = delete;
    ScratchDirectory& operator=(ScratchDirectory const&) = delete;
    ~ScratchDirectory()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }
    [[nodiscard]] std::filesystem::path file_of(std::string const& key) const { return path_ / file_name(key); }

    [[nodiscard]] std::string read(std::string const& key) const
    {
        std::ostringstream text;
        text << std::ifstream(file_of(key)).rdbuf();
        return text.str();
    }
    /** Replaces the file atomically, as the store does. */
    void write(std::string const& key, std::string const& text) const
    {
        auto const draft = path_ / ".by-hand";
        std::ofstream(draft) << text;
        std::filesystem::rename(draft, file_of(key));
    }

    [[nodiscard]] std::unique_ptr<tenure::conformance::Client> client() const
    {
        return std::make_unique<tenure::conformance::Client>([this](std::shared_ptr<tenure::backend::Runtime> runtime) {
            return make_file_backend(std::move(runtime), path_);
        });
    }

private:
    std::filesystem::path path_;
};

} // namespace own_store::test
